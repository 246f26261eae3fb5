//! Stage 14: budgets, the repeat guard and observers learn how it ended, and the one outcome is recorded.

use std::borrow::Cow;

use toolcrib_core::{
    CallRecord, ErrorType, EventKind, ModelResult, Outcome, Settlement, Stage, StageVerdict,
    StoreError, ToolError, defaults,
};

use super::{repeat, shape};
use crate::again;
use crate::flight::{InFlight, Passed};
use crate::pipeline::kind_of;

pub(crate) async fn run(flight: &mut InFlight, result: Result<ModelResult, ToolError>) -> Outcome {
    if let Some(seat) = &flight.seat {
        seat.is_over();
    }
    flight.held = None;
    flight.queued = None;
    flight.permits.clear();
    let over = reconcile(flight, result.as_ref().ok());
    if let Err(error) = &result {
        shape::read(flight, Err(error));
    }
    let result = match result {
        Err(error) if was_cut_off(flight).await => Err(cut_off(&error)),
        result => result,
    };
    // Notes may repeat what a model or a tool wrote.
    let notes = std::mem::take(&mut flight.notes);
    flight.notes = notes.into_iter().map(|note| shape::words(flight, note)).collect();
    let failure = failure(&result);
    repeat::ended(flight, failure.as_ref());
    tell(flight, result.as_ref().ok(), failure.as_ref());
    let kind = kind_of(&result);
    let failure = failure.map(|(error_type, message)| ToolError::new(error_type, message));
    let record = flight.call_record(kind, failure.as_ref());
    let mut outcome = flight.outcome(kind, result);
    crate::failpoint::hit("exit");
    let stored = match store(flight, record, &outcome).await {
        Ok(Kept::Ours) => Ok(()),
        Ok(Kept::Theirs(theirs)) => {
            flight.answered = true;
            return *theirs;
        }
        Err(error) => Err(error),
    };
    crate::failpoint::hit("answer");
    flight.answered = true;
    let step = match stored {
        // The tool ran: its result is never thrown away because a record could not be written.
        Err(error) => Passed(
            StageVerdict::Changed,
            Cow::Owned(format!("the outcome could not be recorded: {error}")),
        ),
        Ok(()) if over => Passed::changed("the budget of the run is now used up"),
        Ok(()) => Passed::PLAIN,
    };
    // A passed stage never stops the call.
    let _ = flight.record(Stage::Settle, Ok(step));
    outcome.report.stages.extend(flight.take_trace());
    outcome
}

/// Whose outcome is recorded.
enum Kept {
    Ours,
    Theirs(Box<Outcome>),
}

/// Writes the one outcome. A process that stood still beyond its lease may find that somebody else works on the call, or has ended it: what
/// became of it is theirs to say then, whatever it did here.
async fn store(
    flight: &InFlight,
    record: CallRecord,
    outcome: &Outcome,
) -> Result<Kept, StoreError> {
    let engine = flight.engine();
    let settle = |record: CallRecord| {
        let bare = Settlement { record, outcome: None };
        let keeps = engine.calls.keeps_evidence();
        engine.calls.settle(if keeps { bare.with_outcome(outcome) } else { bare })
    };
    // Whoever takes over a run looks at its calls by itself.
    let is_alone = flight.scope.run.is_none();
    let began = record.started_at.is_some();
    let stored = settle(record.clone()).await;
    if let Err(StoreError::Fenced { .. }) = stored {
        engine.lost_claim(record.epoch);
    }
    match &stored {
        Err(StoreError::Fenced { .. }) if is_alone => {}
        Err(StoreError::Conflict(_))
            if is_alone && (began || flight.scope.was_taken_for_dead()) => {}
        _ => return stored.map(|()| Kept::Ours),
    }
    // Claimed anew, what was left open is dealt with; this call may be among it.
    engine.claim().await?;
    if began {
        let theirs = again::ended(engine, flight.call).await?;
        return theirs
            .map_or_else(|| stored.map(|()| Kept::Ours), |theirs| Ok(Kept::Theirs(theirs)));
    }
    if let Some(theirs) = again::elsewhere(engine, flight.call, &flight.asked).await? {
        return Ok(Kept::Theirs(theirs));
    }
    // Nobody has it but this process, so it is written under a new claim.
    let stored = engine.under_claim(|epoch| settle(CallRecord { epoch, ..record.clone() })).await;
    stored.map(|()| Kept::Ours)
}

/// Whether the call did not begin now, and did in a process that is gone.
async fn was_cut_off(flight: &InFlight) -> bool {
    flight.started_at.is_none()
        && flight.scope.again
        && again::was_cut_off(flight.engine(), flight.call).await
}

/// It did run, so it is not one that was merely refused.
fn cut_off(why: &ToolError) -> ToolError {
    let text = format!(
        "The process that ran this call ended before the call did, and it was not run again: {}",
        why.message
    );
    ToolError::new(ErrorType::Cancelled, text)
}

/// What the call took replaces what was reserved; `true` = a cap is now exceeded. The result is kept all the same.
fn reconcile(flight: &mut InFlight, result: Option<&ModelResult>) -> bool {
    let (Some(reservation), Some(run)) = (flight.reservation.take(), &flight.scope.run) else {
        return false;
    };
    if flight.attempts == 0 {
        return false;
    }
    let tokens = if run.budget.counts_tokens() {
        let chars =
            result.map_or(0, |r| r.result.to_string().len()) + flight.args.to_string().len();
        chars as u64 / defaults::CHARS_PER_TOKEN
    } else {
        0
    };
    reservation.settle(flight.run_time.saturating_sub(flight.inner_time), tokens);
    run.budget.is_used_up()
}

/// What went wrong, if something did: the door's words, or the tool's own.
fn failure(result: &Result<ModelResult, ToolError>) -> Option<(ErrorType, String)> {
    match result {
        Ok(result) if result.is_error => Some((ErrorType::ExecutionError, words(result))),
        Ok(_) => None,
        Err(error) => Some((error.error_type, error.message.clone())),
    }
}

fn words(result: &ModelResult) -> String {
    result.result.as_str().map_or_else(|| result.result.to_string(), str::to_owned)
}

fn tell(flight: &InFlight, result: Option<&ModelResult>, failure: Option<&(ErrorType, String)>) {
    match (failure, result) {
        (Some((error_type, error)), _) => flight.tell(EventKind::ToolError, |event| {
            event.error_type = Some(*error_type);
            event.error = Some(error.clone());
        }),
        (None, Some(result)) => {
            flight.tell(EventKind::AfterTool, |event| event.result = Some(words(result)));
        }
        (None, None) => {}
    }
}
