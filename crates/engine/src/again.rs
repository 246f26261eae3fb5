//! Calls that may have been sent before, by a process that has died or a caller that asks again: what is recorded of each decides.

use std::sync::Arc;

use toolcrib_core::invoke::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, Batch, Call, CallEnd, CallId, CallRow, Effect, ErrorType, Outcome, Report,
    StoreError, ToolError, Watch,
};

use crate::batch::{self, refused};
use crate::engine::Inner;
use crate::nest::Inside;
use crate::reading::Reading;
use crate::references;
use crate::stage::approve;

/// What becomes of one call.
enum Way {
    /// It has its answer, or waits for a person.
    Answered(Answer),
    /// Somebody decided about it, and it has not run to its end yet.
    Decided(ApprovalId),
    /// It never ran, or changes nothing: it runs.
    Runs,
}

/// Answers a batch: only what never ran, or changes nothing, runs.
pub(crate) async fn run(
    engine: Arc<Inner>,
    mut batch: Batch,
    watch: Option<Arc<dyn Watch>>,
    inside: Option<Arc<Inside>>,
) -> Vec<Answer> {
    let calls = std::mem::take(&mut batch.calls);
    let mut answers: Vec<Option<Answer>> = Vec::with_capacity(calls.len());
    for call in calls {
        let answer = match way(&engine, call.id).await {
            Ok(Way::Answered(answer)) => Some(answer),
            Ok(Way::Decided(id)) => Some(decided(&engine, id, call, inside.is_some()).await),
            Ok(Way::Runs) => {
                batch.calls.push(call);
                None
            }
            // Nobody knows whether it ran: it must not run on a guess.
            Err(error) => Some(refused(call, unreadable(&error))),
        };
        if let (Some(watch), Some(answer)) = (&watch, &answer) {
            watch.answered(answer);
        }
        answers.push(answer);
    }
    let mut ran = if batch.calls.is_empty() {
        Vec::new()
    } else {
        Box::pin(batch::run_fresh(engine, batch, watch, inside)).await
    }
    .into_iter();
    // The gaps are the calls that ran, in their order.
    answers.into_iter().filter_map(|answer| answer.or_else(|| ran.next())).collect()
}

async fn way(engine: &Inner, call: CallId) -> Result<Way, StoreError> {
    if let Some(answer) = known(engine, call).await? {
        return Ok(Way::Answered(answer));
    }
    Ok(match engine.approvals.of_call(call).await? {
        // A question of the model is asked by a call that runs.
        Some((waiting, _)) if waiting.request.question.is_some() => Way::Runs,
        Some((waiting, None)) => Way::Answered(Answer::Suspended(Box::new(waiting.request))),
        Some((waiting, Some(_))) => Way::Decided(waiting.request.id),
        None => Way::Runs,
    })
}

/// The answer of a call that began: its outcome, or that it runs right now. `None` = it never began, or it changes nothing and whoever ran
/// it is gone, so that it may run.
pub(crate) async fn known(engine: &Inner, call: CallId) -> Result<Option<Answer>, StoreError> {
    let Some(mut stored) = engine.calls.call(call).await? else { return Ok(None) };
    if stored.row.end.is_none() && !stored.is_worked_on {
        if stored.row.facts.effect.is_some_and(Effect::is_repeatable) {
            return Ok(None);
        }
        // Whoever left it cannot end it any more: the store ends everything of theirs.
        engine
            .under_claim(|epoch| engine.calls.recover(epoch, engine.clock.now_ms(), false))
            .await?;
        stored = engine.calls.call(call).await?.unwrap_or(stored);
    }
    Ok(Some(match (stored.outcome, &stored.row.end) {
        (Some(outcome), _) => {
            read(engine, &stored.row, &outcome);
            Answer::Done(Box::new(outcome))
        }
        (None, Some(end)) => without_result(&stored.row, end),
        (None, None) => at_work(&stored.row),
    }))
}

/// What is known of a call that has not begun here and may be somebody else's by now: its outcome, or that it is theirs. `None` = nobody
/// else has it.
pub(crate) async fn elsewhere(
    engine: &Inner,
    call: CallId,
    asked: &str,
) -> Result<Option<Box<Outcome>>, StoreError> {
    if let Some(Answer::Done(outcome)) = known(engine, call).await? {
        return Ok(Some(outcome));
    }
    if engine.calls.batch_of(call).await?.is_none() {
        return Ok(None);
    }
    let call = Call { id: call, ..Call::with_text(asked, "") };
    let Answer::Done(outcome) = refused(call, gone_elsewhere()) else { return Ok(None) };
    Ok(Some(outcome))
}

/// The outcome of a call that has ended; `None` = it has not.
pub(crate) async fn ended(
    engine: &Inner,
    call: CallId,
) -> Result<Option<Box<Outcome>>, StoreError> {
    let Some(stored) = engine.calls.call(call).await? else { return Ok(None) };
    let Some(end) = &stored.row.end else { return Ok(None) };
    Ok(match stored.outcome {
        Some(outcome) => Some(Box::new(outcome)),
        None => match without_result(&stored.row, end) {
            Answer::Done(outcome) => Some(outcome),
            Answer::Suspended(_) => None,
        },
    })
}

/// Whether an attempt of this call, which has not begun here, was cut off when its process died.
pub(crate) async fn was_cut_off(engine: &Inner, call: CallId) -> bool {
    let there = engine.calls.call(call).await;
    there.is_ok_and(|there| {
        there.is_some_and(|there| there.row.end.is_none() && !there.is_worked_on)
    })
}

/// What a call brought is read by its run when it is given back too: the process that it ran in may have died before it wrote that down.
fn read(engine: &Inner, row: &CallRow, outcome: &Outcome) {
    let Some(run) = row.facts.run.and_then(|id| engine.runs.get(id)) else { return };
    let registry = engine.registry.read();
    let tool = outcome.tool.as_ref().and_then(|tool| registry.look_up(tool.as_str()));
    // Arguments that are not kept may hold anything.
    let refers = row.facts.args.as_deref().is_none_or(references::may_hold);
    Reading::stored(outcome, tool.map(|tool| &**tool.spec()), refers).raise(&run);
}

async fn decided(engine: &Arc<Inner>, id: ApprovalId, call: Call, inside: bool) -> Answer {
    match approve::go_on(Arc::clone(engine), id, inside).await {
        Ok(Some(answer)) => answer,
        Ok(None) => refused(call, gone_elsewhere()),
        Err(DecideError::Store(error)) => refused(call, unreadable(&StoreError::Failed(error))),
        Err(error) => {
            let text = format!(
                "The decision about this call does not let it run ({error}). Do not retry it."
            );
            refused(call, ToolError::new(ErrorType::ApprovalDenied, text))
        }
    }
}

fn gone_elsewhere() -> ToolError {
    let text = "This call goes on elsewhere; its result did not come back here. Check before you call it again.";
    ToolError::new(ErrorType::UnknownOutcome, text)
}

fn unreadable(error: &StoreError) -> ToolError {
    let text = format!(
        "What became of this call could not be looked up ({error}), and nothing was run now. Ask for it again later, and do not send it as a new call."
    );
    ToolError::new(ErrorType::StoreFailed, text)
}

/// A call that another process, or another task of this one, runs right now.
fn at_work(row: &CallRow) -> Answer {
    let text = "This call is running now, sent before under the same id. Its outcome is not known yet: ask for it again later, and do not send it as a new call.";
    let call = Call { id: row.facts.call, ..Call::with_text(name_of(row), "") };
    refused(call, ToolError::new(ErrorType::UnknownOutcome, text))
}

/// A call that has ended, in a store that keeps no results.
fn without_result(row: &CallRow, end: &CallEnd) -> Answer {
    let text = format!(
        "This call was sent before and has ended ({}); its result was not kept, and it was not run again.",
        end.outcome
    );
    Answer::Done(Box::new(Outcome {
        call: row.facts.call,
        asked: name_of(row),
        tool: row.facts.tool.clone(),
        kind: end.outcome,
        result: Err(ToolError::new(end.error_type.unwrap_or(ErrorType::ExecutionError), text)),
        notes: Vec::new(),
        report: Report::default(),
    }))
}

fn name_of(row: &CallRow) -> String {
    let facts = &row.facts;
    facts.asked.clone().or_else(|| facts.tool.as_ref().map(ToString::to_string)).unwrap_or_default()
}
