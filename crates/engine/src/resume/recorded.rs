//! Looks up the record of a call: its outcome, that it runs elsewhere, or nothing.

use toolcrib_core::{
    Answer, Call, CallEnd, CallId, CallRow, Effect, ErrorType, Outcome, Report, StoreError,
    ToolError,
};

use crate::answer_without_call::answer_without_call;
use crate::artifact_references;
use crate::engine_inner::EngineInner;
use crate::result_taint::ResultTaint;

/// Returns the answer of a started call: its outcome, or that it is running. `None` if it never
/// started, or if it changes nothing and its process has ended, so that it may run.
pub(crate) async fn recorded_answer(
    engine: &EngineInner,
    call: CallId,
) -> Result<Option<Answer>, StoreError> {
    let Some(mut stored) = engine.calls.call(call).await? else { return Ok(None) };
    if stored.row.end.is_none() && !stored.is_owner_alive {
        if stored.row.facts.effect.is_some_and(Effect::is_repeatable) {
            return Ok(None);
        }
        // Its process can no longer end it: recovery ends all calls that this process left open.
        engine.under_claim(|epoch| engine.calls.recover(epoch, engine.clock.now_ms())).await?;
        stored = engine.calls.call(call).await?.unwrap_or(stored);
    }
    Ok(Some(match (stored.outcome, &stored.row.end) {
        (Some(outcome), _) => {
            raise_labels(engine, &stored.row, &outcome);
            Answer::Done(Box::new(outcome))
        }
        (None, Some(end)) => without_result(&stored.row, end),
        (None, None) => still_running(&stored.row),
    }))
}

/// Returns the answer for a call that has not started here and may belong to another process by
/// now: its outcome, or that it runs elsewhere. `None` if no other process has it.
pub(crate) async fn outcome_elsewhere(
    engine: &EngineInner,
    call: CallId,
    asked: &str,
) -> Result<Option<Box<Outcome>>, StoreError> {
    if let Some(Answer::Done(outcome)) = recorded_answer(engine, call).await? {
        return Ok(Some(outcome));
    }
    if engine.calls.batch_of(call).await?.is_none() {
        return Ok(None);
    }
    let call = Call { id: call, ..Call::with_text(asked, "") };
    let Answer::Done(outcome) = answer_without_call(call, gone_elsewhere()) else {
        return Ok(None);
    };
    Ok(Some(outcome))
}

/// Returns the outcome of an ended call; `None` if it has not ended.
pub(crate) async fn recorded_outcome(
    engine: &EngineInner,
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

/// Returns whether an attempt of this call, which has not started here, was interrupted by the end
/// of its process.
pub(crate) async fn was_interrupted(engine: &EngineInner, call: CallId) -> bool {
    let there = engine.calls.call(call).await;
    there.is_ok_and(|there| {
        there.is_some_and(|there| there.row.end.is_none() && !there.is_owner_alive)
    })
}

/// Raises the labels of a result that is returned again: the process of the call may have ended
/// before it recorded them.
fn raise_labels(engine: &EngineInner, row: &CallRow, outcome: &Outcome) {
    let Some(run) = row.facts.run.and_then(|id| engine.runs.get(id)) else { return };
    let registry = engine.registry.read();
    let tool = outcome.tool.as_ref().and_then(|tool| registry.find_any_spelling(tool.as_str()));
    // Arguments that were not stored may contain anything.
    let refers = row.facts.args.as_deref().is_none_or(artifact_references::may_contain);
    ResultTaint::from_stored(outcome, tool.map(|tool| &**tool.spec()), refers).raise(&run);
}

pub(super) fn gone_elsewhere() -> ToolError {
    let text = "Another process continues this call; its result did not arrive here. Check before you call it again.";
    ToolError::new(ErrorType::UnknownOutcome, text)
}

/// Returns the answer for a call that another process, or another task of this one, is running.
fn still_running(row: &CallRow) -> Answer {
    let text = "This call is running now, sent before under the same id. Its outcome is not known yet: ask for it again later, and do not send it as a new call.";
    let call = Call { id: row.facts.call, ..Call::with_text(name_of(row), "") };
    answer_without_call(call, ToolError::new(ErrorType::UnknownOutcome, text))
}

/// Returns the answer for an ended call from a store without results.
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
        unrecorded: None,
    }))
}

fn name_of(row: &CallRow) -> String {
    let facts = &row.facts;
    facts.asked.clone().or_else(|| facts.tool.as_ref().map(ToString::to_string)).unwrap_or_default()
}
