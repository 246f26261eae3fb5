//! Calls that may have been sent before, by a process that has died or a caller that asks again: what is recorded of each decides.

use std::sync::Arc;

use toolcrib_core::invoke::DecideError;
use toolcrib_core::{
    Answer, Batch, Call, CallId, ErrorType, Intent, Outcome, Settlement, StoreError, StoredCall,
    ToolError, Watch,
};

use crate::batch::{self, refused};
use crate::engine::Inner;
use crate::stage::approve;

/// What becomes of one call.
enum Way {
    /// It has its answer, or waits for a person.
    Answered(Answer),
    /// Somebody decided about it, and it has not run yet.
    Decided(toolcrib_core::ApprovalId),
    /// It never ran, or changes nothing: it runs.
    Runs,
}

/// Answers a batch: only what never ran, or changes nothing, runs.
pub(crate) async fn run(
    engine: Arc<Inner>,
    mut batch: Batch,
    watch: Option<Arc<dyn Watch>>,
) -> Vec<Answer> {
    batch.again = false;
    let calls = std::mem::take(&mut batch.calls);
    let mut answers: Vec<Option<Answer>> = Vec::with_capacity(calls.len());
    let mut places = Vec::new();
    for (place, call) in calls.into_iter().enumerate() {
        let answer = match way(&engine, call.id).await {
            Ok(Way::Answered(answer)) => Some(answer),
            Ok(Way::Decided(id)) => Some(decided(&engine, id, call).await),
            Ok(Way::Runs) => {
                places.push(place);
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
    if !places.is_empty() {
        let ran = Box::pin(batch::run(engine, batch, watch)).await;
        for (place, answer) in places.into_iter().zip(ran) {
            if let Some(slot) = answers.get_mut(place) {
                *slot = Some(answer);
            }
        }
    }
    // Each place was filled above or by the run; a gap would be a fault of the door, and the caller sees fewer answers than calls.
    answers.into_iter().flatten().collect()
}

/// The answer of a call that has its outcome.
pub(crate) async fn known(engine: &Inner, call: CallId) -> Result<Option<Answer>, StoreError> {
    let stored = engine.calls.call(call).await?;
    Ok(stored.and_then(|stored| stored.outcome).map(|outcome| Answer::Done(Box::new(outcome))))
}

async fn way(engine: &Inner, call: CallId) -> Result<Way, StoreError> {
    match engine.calls.call(call).await? {
        Some(stored) if stored.row.end.is_some() => {
            let outcome = stored.outcome.unwrap_or_else(|| without_result(&stored.row));
            Ok(Way::Answered(Answer::Done(Box::new(outcome))))
        }
        Some(stored) if stored.is_worked_on => Ok(Way::Answered(at_work(&stored))),
        Some(stored) => left_behind(engine, stored).await,
        None => Ok(match engine.approvals.of_call(call).await? {
            // A question of the model is asked by a call that has ended.
            Some((waiting, _)) if waiting.request.question.is_some() => Way::Runs,
            Some((waiting, None)) => Way::Answered(Answer::Suspended(Box::new(waiting.request))),
            Some((waiting, Some(_))) => Way::Decided(waiting.request.id),
            None => Way::Runs,
        }),
    }
}

/// A call whose process died while it ran.
async fn left_behind(engine: &Inner, stored: StoredCall) -> Result<Way, StoreError> {
    let StoredCall { row, .. } = stored;
    let started_at = row.started_at.unwrap_or(row.facts.received_at);
    let (call, epoch) = (row.facts.call, row.epoch);
    let intent = Intent { facts: row.facts, started_at, epoch };
    if intent.is_repeatable() {
        return Ok(Way::Runs);
    }
    // Whoever left it cannot end it any more; the store ends everything of theirs.
    engine.calls.recover(engine.epoch(), engine.clock.now_ms()).await?;
    if let Some(answer) = known(engine, call).await? {
        return Ok(Way::Answered(answer));
    }
    let settlement = Settlement::of_crash(intent, engine.clock.now_ms(), engine.epoch());
    let outcome = settlement.outcome.and_then(|text| serde_json::from_str(&text).ok());
    outcome
        .map(|outcome: Outcome| Way::Answered(Answer::Done(Box::new(outcome))))
        .ok_or_else(|| StoreError::Failed("an outcome cannot be read".to_owned()))
}

async fn decided(engine: &Arc<Inner>, id: toolcrib_core::ApprovalId, call: Call) -> Answer {
    let elsewhere = || {
        let text = "This call was decided about and goes on elsewhere; its result did not come back here. Check before you call it again.";
        ToolError::new(ErrorType::UnknownOutcome, text)
    };
    match approve::go_on(Arc::clone(engine), id).await {
        Ok(Some(answer)) => answer,
        Ok(None) => refused(call, elsewhere()),
        Err(DecideError::Store(error)) => refused(call, unreadable(&StoreError::Failed(error))),
        Err(error) => refused(call, ToolError::new(ErrorType::ApprovalDenied, error.to_string())),
    }
}

fn unreadable(error: &StoreError) -> ToolError {
    let text = format!(
        "What became of this call could not be looked up ({error}), so it was not run. Try again."
    );
    ToolError::new(ErrorType::StoreFailed, text)
}

/// A call that another process, or another task of this one, runs right now.
fn at_work(stored: &StoredCall) -> Answer {
    let facts = &stored.row.facts;
    let text = "This call is running now, sent before under the same id. Its outcome is not known yet: ask for it again later, and do not send it as a new call.";
    let name = facts.asked.clone().or_else(|| facts.tool.as_ref().map(ToString::to_string));
    let call = Call { id: facts.call, ..Call::with_text(name.unwrap_or_default(), "") };
    refused(call, ToolError::new(ErrorType::UnknownOutcome, text))
}

/// A call whose result was not kept.
fn without_result(row: &toolcrib_core::CallRow) -> Outcome {
    let name = row.facts.asked.clone().or_else(|| row.facts.tool.as_ref().map(ToString::to_string));
    let kind = row.end.as_ref().map_or(toolcrib_core::OutcomeKind::Unknown, |end| end.outcome);
    let text = format!("This call has ended before ({kind}), and its result was not kept.");
    Outcome {
        call: row.facts.call,
        asked: name.unwrap_or_default(),
        tool: row.facts.tool.clone(),
        kind,
        result: Err(ToolError::new(ErrorType::ExecutionError, text)),
        notes: Vec::new(),
        report: toolcrib_core::Report::default(),
    }
}
