//! Stage 14: updates budgets and the repeat guard, records the one outcome, and then notifies
//! observers and the caller.

use toolcrib_core::{
    CallRecord, Effect, ErrorType, EventKind, ModelResult, Outcome, OutcomeKind, Settlement, Stage,
    StoreError, ToolError, defaults,
};

use super::step::StagePass;
use super::{repeat, shape_result};
use crate::call_state::{Admission, CallState};
use crate::late_records::record_later;
use crate::resume::recorded;
use crate::safe_text;

pub(crate) async fn run(call: &mut CallState, result: Result<ModelResult, ToolError>) -> Outcome {
    call.mark_finishing();
    call.admission = Admission::default();
    let over = reconcile(call, result.as_ref().ok());
    if let Err(error) = &result {
        shape_result::raise_labels(call, Err(error));
    }
    let result = match result {
        Err(error) if was_cut_off(call).await => Err(cut_off(&error)),
        result => result,
    };
    // Notes may repeat text of a model or a tool.
    let notes = std::mem::take(&mut call.notes).into_iter();
    let secrets = &call.engine().secrets;
    call.notes = notes.map(|note| safe_text::sanitize_text(secrets, note)).collect();
    let failure = failure(&result);
    repeat::record_end(call, failure.as_ref());
    let kind = outcome_kind(&result);
    let failure = failure.map(|(error_type, message)| ToolError::new(error_type, message));
    let record = call.call_record(kind, failure.as_ref());
    let outcome = call.outcome(kind, result);
    crate::failpoint::hit("exit");
    let stored = store(call, &record, &outcome).await;
    let (mut outcome, step) = match stored {
        Ok(StoredOutcome::Theirs(theirs)) => {
            call.mark_answered();
            notify_observers(call, &theirs);
            return *theirs;
        }
        Ok(StoredOutcome::Ours) if over => {
            (outcome, StagePass::changed((), "the budget of the run is now used up"))
        }
        Ok(StoredOutcome::Ours) => (outcome, StagePass::plain(())),
        Err(error) => {
            let is_refused = matches!(error, StoreError::Conflict(_) | StoreError::Fenced { .. });
            if !is_refused && !may_still_run(call, &outcome) {
                record_later(call.engine(), settlement(call, record, &outcome));
            }
            let note = format!("the outcome could not be recorded: {error}");
            (without_record(call, outcome, &error), StagePass::changed((), note))
        }
    };
    crate::failpoint::hit("answer");
    call.mark_answered();
    // After the record: a log line or a count of an outcome must not contradict the store.
    notify_observers(call, &outcome);
    // A passed stage never stops the call.
    let _ = call.record(Stage::Settle, Ok(step));
    outcome.report.stages.extend(call.take_trace());
    outcome
}

/// Returns the answer of a call whose outcome could not be recorded.
///
/// The tool's result is never discarded, but only a call that did not run, or that only reads on a
/// full disk, keeps its outcome: their missing record cannot lead to a wrong conclusion. A call
/// that is accepted or approved and could not start has no end at all.
fn without_record(call: &CallState, mut outcome: Outcome, error: &StoreError) -> Outcome {
    let only_reads = outcome.report.effect.is_some_and(Effect::only_reads);
    if outcome.report.attempts > 0 && !(only_reads && matches!(error, StoreError::Full(_))) {
        return outcome.into_unrecorded(error);
    }
    match &outcome.result {
        Err(why) if may_still_run(call, &outcome) => {
            let text = format!(
                "{} The call is accepted, so it may still run when the store works again: ask for it again later, and do not send it as a new call.",
                why.message
            );
            let error = ToolError::new(ErrorType::UnknownOutcome, text);
            Outcome { kind: error.error_type.outcome(), result: Err(error), ..outcome }
        }
        Err(why) if why.error_type == ErrorType::StoreFailed => outcome,
        _ => {
            outcome.notes.push(format!("This call could not be recorded ({error})."));
            outcome
        }
    }
}

/// Returns whether a call that could not start is stored for a later run: another process, or a
/// repeated request, will find it.
fn may_still_run(call: &CallState, outcome: &Outcome) -> bool {
    let is_stored = call.facts.approval.is_some() || call.scope.is_replay;
    is_stored
        && outcome.report.attempts == 0
        && outcome.error_type() == Some(ErrorType::StoreFailed)
}

/// Suspends a call that waits for a person beyond this process. Nothing is settled: dropping the
/// call returns its budget, and the store has the question.
pub(crate) async fn suspend(call: &mut CallState) {
    call.mark_answered();
    if let Some(start) = call.facts.start.as_ref().filter(|start| start.at.is_some()) {
        // One of its child calls waits. If this cannot be recorded, the call can still start again
        // once this process has ended.
        let _ = call.engine().calls.suspend(call.id, start.epoch).await;
    }
}

/// Returns the outcome of a call from its result.
fn outcome_kind(result: &Result<ModelResult, ToolError>) -> OutcomeKind {
    match result {
        Ok(result) => result.failure_type().map_or(OutcomeKind::Succeeded, ErrorType::outcome),
        Err(error) => error.error_type.outcome(),
    }
}

/// The recorded outcome.
enum StoredOutcome {
    Ours,
    Theirs(Box<Outcome>),
}

/// Writes the one outcome. A process that was paused beyond its lease may find that another one
/// runs the call or has ended it: then the outcome recorded there applies, and this one is dropped.
async fn store(
    call: &CallState,
    record: &CallRecord,
    outcome: &Outcome,
) -> Result<StoredOutcome, StoreError> {
    let engine = call.engine();
    let settle = |record: CallRecord| engine.calls.settle(settlement(call, record, outcome));
    // A process that takes over a run checks its calls itself.
    let is_alone = call.scope.run.is_none();
    let began = record.started_at.is_some();
    let stored = settle(record.clone()).await;
    if let Err(StoreError::Fenced { .. }) = stored {
        engine.lost_claim(record.epoch);
    }
    match &stored {
        Err(StoreError::Fenced { .. }) if is_alone => {}
        Err(StoreError::Conflict(_)) if is_alone && (began || call.scope.lost_lease()) => {}
        _ => return stored.map(|()| StoredOutcome::Ours),
    }
    // A new claim settles calls that were left open; this call may be among them.
    engine.claim().await?;
    if began {
        let theirs = recorded::recorded_outcome(engine, call.id).await?;
        return theirs.map_or_else(
            || stored.map(|()| StoredOutcome::Ours),
            |theirs| Ok(StoredOutcome::Theirs(theirs)),
        );
    }
    if let Some(theirs) = recorded::outcome_elsewhere(engine, call.id, &call.asked).await? {
        return Ok(StoredOutcome::Theirs(theirs));
    }
    // Only this process has the outcome, so it is written under a new claim.
    let stored = engine.under_claim(|epoch| settle(CallRecord { epoch, ..record.clone() })).await;
    stored.map(|()| StoredOutcome::Ours)
}

fn settlement(call: &CallState, record: CallRecord, outcome: &Outcome) -> Settlement {
    let bare = Settlement { record, outcome: None };
    if call.engine().calls.keeps_details() { bare.with_outcome(outcome) } else { bare }
}

/// Returns whether the call did not start now, but in a process that has ended.
async fn was_cut_off(call: &CallState) -> bool {
    call.facts.start.as_ref().is_none_or(|start| start.at.is_none())
        && call.scope.is_replay
        && recorded::was_interrupted(call.engine(), call.id).await
}

/// Creates the error of an interrupted call. The call did run, so it must not look like a refused
/// one.
fn cut_off(why: &ToolError) -> ToolError {
    let text = format!(
        "The process that ran this call ended before the call did, and it was not run again: {}",
        why.message
    );
    ToolError::new(ErrorType::Cancelled, text)
}

/// Replaces the reservation by the actual usage; `true` if a limit is now exceeded. The result is
/// returned regardless.
fn reconcile(call: &mut CallState, result: Option<&ModelResult>) -> bool {
    let (Some(reservation), Some(run)) = (call.reservation.take(), &call.scope.run) else {
        return false;
    };
    if call.attempts.count == 0 {
        return false;
    }
    let tokens = if run.budget.counts_tokens() {
        let args = call.args.decoded.as_ref().map_or(0, |args| args.value.to_string().len());
        let chars = result.map_or(0, |r| r.result.to_string().len()) + args;
        chars as u64 / defaults::CHARS_PER_TOKEN
    } else {
        0
    };
    reservation.settle(call.attempts.run_time.saturating_sub(call.attempts.child_time), tokens);
    run.budget.is_exhausted()
}

/// Returns the error of the engine or the tool, if there is one.
fn failure(result: &Result<ModelResult, ToolError>) -> Option<(ErrorType, String)> {
    match result {
        Ok(result) => result.failure_type().map(|error_type| (error_type, words(result))),
        Err(error) => Some((error.error_type, error.message.clone())),
    }
}

fn words(result: &ModelResult) -> String {
    result.result.as_str().map_or_else(|| result.result.to_string(), str::to_owned)
}

fn notify_observers(call: &CallState, outcome: &Outcome) {
    match failure(&outcome.result) {
        Some((error_type, error)) => call.emit(EventKind::ToolError, |event| {
            event.error_type = Some(error_type);
            event.error = Some(error);
        }),
        None => call.emit(EventKind::AfterTool, |event| {
            event.result = outcome.result.as_ref().ok().map(words);
        }),
    }
}
