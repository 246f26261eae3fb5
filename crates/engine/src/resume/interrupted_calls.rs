//! Answers a batch that may have been sent before, by a process that has ended or by a caller that
//! repeats it. The record of each call decides.

use std::sync::Arc;

use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, Batch, BatchSubscriber, Call, CallId, ErrorType, StoreError, ToolError,
};

use super::decide_and_resume;
use super::recorded::{gone_elsewhere, recorded_answer};
use crate::answer_without_call::answer_without_call;
use crate::batch;
use crate::child_calls::parent::ParentContext;
use crate::engine_inner::EngineInner;

/// How one call is handled.
enum ReplayAction {
    /// It has its answer, or waits for a person.
    Answered(Answer),
    /// Its question is decided, and it has no outcome yet.
    Decided(ApprovalId),
    /// It never ran, or it changes nothing, so it runs.
    Runs,
}

/// Answers a batch; only calls that never ran or that change nothing run.
pub(crate) async fn run(
    engine: Arc<EngineInner>,
    mut batch: Batch,
    watch: Option<Arc<dyn BatchSubscriber>>,
    parent: Option<Arc<ParentContext>>,
) -> Vec<Answer> {
    let calls = std::mem::take(&mut batch.calls);
    let mut answers: Vec<Option<Answer>> = Vec::with_capacity(calls.len());
    for call in calls {
        let answer = match replay_action(&engine, call.id).await {
            Ok(ReplayAction::Answered(answer)) => Some(answer),
            Ok(ReplayAction::Decided(id)) => {
                Some(resume_decided(&engine, id, call, parent.is_some()).await)
            }
            Ok(ReplayAction::Runs) => {
                batch.calls.push(call);
                None
            }
            // It is unknown whether the call ran, so it must not run again.
            Err(error) => Some(answer_without_call(call, unreadable(&error))),
        };
        if let (Some(watch), Some(answer)) = (&watch, &answer) {
            watch.on_answer(answer);
        }
        answers.push(answer);
    }
    let mut ran = if batch.calls.is_empty() {
        Vec::new()
    } else {
        Box::pin(batch::run_new(engine, batch, watch, parent)).await
    }
    .into_iter();
    // The gaps are the calls that ran now, in their order.
    answers.into_iter().filter_map(|answer| answer.or_else(|| ran.next())).collect()
}

async fn replay_action(engine: &EngineInner, call: CallId) -> Result<ReplayAction, StoreError> {
    if let Some(answer) = recorded_answer(engine, call).await? {
        return Ok(ReplayAction::Answered(answer));
    }
    Ok(match engine.approvals.for_call(call).await? {
        // A question of the model comes from a call that runs.
        Some((waiting, _)) if waiting.request.question.is_some() => ReplayAction::Runs,
        Some((waiting, None)) => {
            ReplayAction::Answered(Answer::Suspended(Box::new(waiting.request)))
        }
        Some((waiting, Some(_))) => ReplayAction::Decided(waiting.request.id),
        None => ReplayAction::Runs,
    })
}

async fn resume_decided(
    engine: &Arc<EngineInner>,
    id: ApprovalId,
    call: Call,
    in_parent: bool,
) -> Answer {
    match decide_and_resume::resume(Arc::clone(engine), id, in_parent).await {
        Ok(Some(answer)) => answer,
        Ok(None) => answer_without_call(call, gone_elsewhere()),
        Err(DecideError::Store(error)) => {
            answer_without_call(call, unreadable(&StoreError::Failed(error)))
        }
        Err(error) => {
            let text = format!(
                "The decision about this call does not let it run ({error}). Do not retry it."
            );
            answer_without_call(call, ToolError::new(ErrorType::ApprovalDenied, text))
        }
    }
}

fn unreadable(error: &StoreError) -> ToolError {
    let text = format!(
        "What became of this call could not be looked up ({error}), and nothing was run now. Ask for it again later, and do not send it as a new call."
    );
    ToolError::new(ErrorType::StoreFailed, text)
}
