//! Runs a batch: stages 0 to 8 in the order of the calls, the other stages concurrently. Answers
//! are returned in the order of the calls.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::task::JoinSet;
use toolcrib_core::{
    Answer, Batch, BatchSubscriber, Call, ErrorType, EventKind, RawArgs, StoreError, ToolError,
};

use crate::answer_without_call::answer_without_call;
use crate::batch_scope::{BatchScope, ScopeOptions, ScopeOwner};
use crate::call_state::CallState;
use crate::child_calls::parent::ParentContext;
use crate::engine_inner::EngineInner;
use crate::open_runs::not_open;
use crate::pipeline;
use crate::resume::resumed_call::ResumedCall;
use crate::stage::admit;
use crate::stage::phase::{Budgeted, Decoded, Shaped};
use crate::stage::repeat::{self, RepeatVerdict};
use crate::stage::step::StageExit;

/// Runs calls that are known to have no answer yet.
pub(crate) async fn run_new(
    engine: Arc<EngineInner>,
    batch: Batch,
    subscriber: Option<Arc<dyn BatchSubscriber>>,
    parent: Option<Arc<ParentContext>>,
) -> Vec<Answer> {
    let run = batch.run.and_then(|id| engine.runs.get(id));
    let closed = batch.run.filter(|_| run.is_none()).map(not_open);
    let (is_replay, calls) = (batch.is_replay, batch.calls);
    let owner = ScopeOwner { origin: batch.origin, context: batch.context, view: batch.view, run };
    let options = ScopeOptions { subscriber, is_replay, parent, rules: None };
    let scope = BatchScope::new(&engine, owner, calls.len(), options);
    let prepare = |call| {
        let mut call = Box::new(CallState::new(Arc::clone(&scope), call, None));
        let decoded = match &closed {
            Some(error) => Err(StageExit::Fail(error.clone())),
            None => pipeline::prepare(&mut call),
        };
        (call, decoded)
    };
    // Most batches consist of one call, which needs no list and no task.
    let calls = match <[Call; 1]>::try_from(calls) {
        Ok([call]) => {
            let (mut call, decoded) = prepare(call);
            let verdict = repeat::check_batch(&scope, std::iter::once(&*call));
            let budgeted = authorize(&mut call, decoded, &verdict).await;
            return vec![complete(call, budgeted).await];
        }
        Err(calls) => calls,
    };
    let prepared: Vec<(Box<CallState>, Result<Decoded, StageExit>)> =
        calls.into_iter().map(prepare).collect();
    let verdict = repeat::check_batch(&scope, prepared.iter().map(|(call, _)| &**call));
    let mut authorized = Vec::with_capacity(prepared.len());
    for (mut call, decoded) in prepared {
        let budgeted = authorize(&mut call, decoded, &verdict).await;
        authorized.push((call, budgeted));
    }
    run_concurrently(authorized).await
}

/// Answers calls that their caller abandons before they run. Each call passes the stages that
/// determine its name and arguments, so that its record contains them.
pub(crate) async fn refuse(
    engine: Arc<EngineInner>,
    batch: Batch,
    error: &ToolError,
) -> Vec<Answer> {
    let run = batch.run.and_then(|id| engine.runs.get(id));
    let owner = ScopeOwner { origin: batch.origin, context: batch.context, view: batch.view, run };
    let options = ScopeOptions::default();
    let scope = BatchScope::new(&engine, owner, batch.calls.len(), options);
    let mut answers = Vec::with_capacity(batch.calls.len());
    for call in batch.calls {
        let mut call = Box::new(CallState::new(Arc::clone(&scope), call, None));
        let _ = pipeline::prepare(&mut call);
        if error.error_type == ErrorType::BudgetExceeded {
            call.emit(EventKind::BudgetExceeded, |event| event.error = Some(error.message.clone()));
        }
        answers.push(pipeline::finish(call, Err(StageExit::Fail(error.clone()))).await);
    }
    answers
}

/// Runs a call again from stage 0, with the decision about it.
pub(crate) async fn run_resumed(
    scope: Arc<BatchScope>,
    call: Call,
    resumed: Box<ResumedCall>,
) -> Answer {
    let mut call = Box::new(CallState::new(scope, call, Some(resumed)));
    let end = run_all_stages(&mut call).await;
    pipeline::finish(call, end).await
}

async fn run_all_stages(call: &mut CallState) -> Result<Shaped, StageExit> {
    let decoded = pipeline::prepare(call)?;
    let budgeted = pipeline::authorize(call, decoded, &RepeatVerdict::default()).await?;
    execute(call, budgeted).await
}

/// Runs stages 4 to 8. A call that was refused before them still counts as a repetition.
async fn authorize(
    call: &mut CallState,
    decoded: Result<Decoded, StageExit>,
    verdict: &RepeatVerdict,
) -> Result<Budgeted, StageExit> {
    match decoded {
        Ok(decoded) => {
            call.reset_stage_timer();
            pipeline::authorize(call, decoded, verdict).await
        }
        Err(exit) => {
            if verdict.repeats() {
                pipeline::check_repeat(call, verdict)?;
            }
            Err(exit)
        }
    }
}

/// Runs stages 9 to 14 of an authorized call, or stage 14 of a refused one.
async fn complete(call: Box<CallState>, budgeted: Result<Budgeted, StageExit>) -> Answer {
    let subscriber = call.scope.subscriber.clone();
    let answer = finish_or_rerun(call, budgeted).await;
    if let Some(subscriber) = subscriber {
        subscriber.on_answer(&answer);
    }
    answer
}

async fn finish_or_rerun(
    mut call: Box<CallState>,
    budgeted: Result<Budgeted, StageExit>,
) -> Answer {
    let end = match budgeted {
        Ok(budgeted) => {
            call.reset_stage_timer();
            execute(&mut call, budgeted).await
        }
        Err(exit) => Err(exit),
    };
    match end {
        Err(StageExit::Rerun(resumed)) => rerun(call, resumed).await,
        end => pipeline::finish(call, end).await,
    }
}

/// Replaces the model's arguments by the person's: the same call enters the pipeline again at stage
/// 0.
async fn rerun(mut call: Box<CallState>, resumed: Box<ResumedCall>) -> Answer {
    call.mark_answered();
    let real = call.args.display().cloned().unwrap_or_default();
    let args = match resumed.args(call.engine().sealing(), real) {
        Ok(args) => RawArgs::Value(args),
        // Sealed here a moment ago; a refusal is better than a run with guessed arguments.
        Err(error) => RawArgs::Broken(format!("The changed arguments cannot be opened ({error}).")),
    };
    let again = Call { id: call.id, name: call.asked.clone(), args };
    let scope = Arc::clone(&call.scope);
    // Hold the handle, so that no other task resumes the same decision meanwhile.
    let _handle = call.approval_handle.take();
    drop(call);
    Box::pin(run_resumed(scope, again, resumed)).await
}

/// Runs the remaining stages and catches panics. Panics of tools are caught in the run stage; a
/// panic here is a bug in the engine, which must not crash the caller either.
async fn execute(call: &mut CallState, budgeted: Budgeted) -> Result<Shaped, StageExit> {
    let caught = AssertUnwindSafe(pipeline::execute(call, budgeted)).catch_unwind().await;
    caught.unwrap_or_else(|_| {
        let text = "The call was interrupted by a fault of the engine. Whether it took effect is unknown: check before you call it again.";
        Err(StageExit::Fail(ToolError::new(ErrorType::UnknownOutcome, text)))
    })
}

async fn run_concurrently(
    authorized: Vec<(Box<CallState>, Result<Budgeted, StageExit>)>,
) -> Vec<Answer> {
    let mut tasks = JoinSet::new();
    let mut answers: Vec<Option<Answer>> = Vec::new();
    let mut calls = Vec::new();
    for (index, (mut call, mut budgeted)) in authorized.into_iter().enumerate() {
        calls.push(Call { id: call.id, ..Call::with_text(call.asked.clone(), "") });
        answers.push(None);
        if let Ok(budgeted) = &mut budgeted {
            admit::enqueue(&mut call, budgeted).await;
        }
        tasks.spawn(async move { (index, complete(call, budgeted).await) });
    }
    while let Some(done) = tasks.join_next().await {
        // A task that panicked settled its call by dropping it; it gets its answer below.
        if let Ok((index, answer)) = done
            && let Some(slot) = answers.get_mut(index)
        {
            *slot = Some(answer);
        }
    }
    answers
        .into_iter()
        .zip(calls)
        .map(|(answer, call)| {
            answer.unwrap_or_else(|| {
                let text = "The call was interrupted inside the engine. Whether it took effect is unknown: check before you call it again.";
                answer_without_call(call, ToolError::new(ErrorType::UnknownOutcome, text))
            })
        })
        .collect()
}

/// Returns the answer for a call that could not be received, because the store accepts no claim.
pub(crate) fn claim_failed(call: Call, error: &StoreError) -> Answer {
    let text = format!("The call could not be recorded ({error}), so it was not run.");
    answer_without_call(call, ToolError::new(ErrorType::StoreFailed, text))
}
