//! Decides about a suspended call and resumes it, and then its parent.

use std::sync::Arc;

use toolcrib_core::invoker::DecideError;
use toolcrib_core::store::PendingApproval;
use toolcrib_core::{
    Answer, ApprovalId, Batch, BoxFuture, Call, Decision, DecisionRecord, RawArgs, SealError,
};

use super::environment;
use super::expired::settle_expired;
use super::pending_approvals::Handoff;
use super::record_decision::{real_args, store_error};
use super::recorded::recorded_answer;
use super::resumed_call::ResumedCall;
use crate::batch;
use crate::batch_scope::{BatchScope, ScopeOptions, ScopeOwner};
use crate::call_state::CallState;
use crate::child_calls::parent::ParentContext;
use crate::engine_inner::EngineInner;
use crate::open_runs::not_open;
use crate::pipeline;
use crate::stage::step::StageExit;

/// Decides about a suspended call and resumes it. `None` if the call waits in another task of this
/// process and is resumed there.
pub(crate) async fn decide(
    engine: Arc<EngineInner>,
    id: ApprovalId,
    record: DecisionRecord,
) -> Result<Option<Answer>, DecideError> {
    if may_run(&record.decision) {
        check_environment(&engine, id).await?;
    }
    let recorded = engine.decisions().record(id, record).await;
    let (waiting, decided) =
        engine.approvals.get(id).await.map_err(store_error)?.ok_or(DecideError::NotFound)?;
    match (recorded, decided) {
        (Ok(record), _) => run_decided(engine, waiting, record, false).await,
        (Err(DecideError::Expired), Some(expiry)) => {
            let has_parent = waiting.batch.parent_call.is_some();
            let answer = run_decided(engine, waiting, expiry, false).await?;
            // The question is closed; the parent continues without the call.
            answer.filter(|_| has_parent).map(Some).ok_or(DecideError::Expired)
        }
        (Err(error), _) => Err(error),
    }
}

/// Resumes a call whose decision was recorded earlier, by a process that has ended or on a surface
/// that only records decisions. A call that already has its outcome is answered with it.
///
/// `in_parent` means that the parent is running and continues by itself.
pub(crate) async fn resume(
    engine: Arc<EngineInner>,
    id: ApprovalId,
    in_parent: bool,
) -> Result<Option<Answer>, DecideError> {
    let (waiting, decided) =
        engine.approvals.get(id).await.map_err(store_error)?.ok_or(DecideError::NotFound)?;
    let record = decided.ok_or(DecideError::Undecided)?;
    run_decided(engine, waiting, record, in_parent).await
}

fn may_run(decision: &Decision) -> bool {
    matches!(decision, Decision::Approve { .. } | Decision::Edit { .. })
}

/// Checks that this process can run the call, so that a process that cannot does not use up the
/// approval.
async fn check_environment(engine: &EngineInner, id: ApprovalId) -> Result<(), DecideError> {
    let found = engine.approvals.get(id).await.map_err(store_error)?;
    let (waiting, decided) = found.ok_or(DecideError::NotFound)?;
    let is_driven = waiting.batch.run.is_some_and(|run| engine.runs.get(run).is_some());
    match environment::decision_obstacle(engine, &waiting)
        .filter(|_| decided.is_none() && !is_driven)
    {
        Some(why) => Err(DecideError::OtherEnvironment(why)),
        None => Ok(()),
    }
}

async fn run_decided(
    engine: Arc<EngineInner>,
    waiting: PendingApproval,
    record: DecisionRecord,
    in_parent: bool,
) -> Result<Option<Answer>, DecideError> {
    if !in_parent && waiting.batch.parent_call.is_some() {
        if engine.pending_approvals.deliver(waiting.request.id, &record) {
            return Ok(None);
        }
        return resume_with_parent(engine, waiting, record).await;
    }
    if waiting.request.question.is_some() {
        // A question of the model is answered where its run continues.
        return Ok(None);
    }
    let _handle = match engine.pending_approvals.hand_off(waiting.request.id, record.clone()) {
        Handoff::Delivered => return Ok(None),
        Handoff::Unclaimed(handle) => handle,
    };
    // Look up the outcome while holding the handle: the call may just have been resumed and have
    // ended.
    if let Some(answer) =
        recorded_answer(&engine, waiting.request.call).await.map_err(store_error)?
    {
        return Ok(Some(answer));
    }
    // A run that is open in this process continues without a missing tool; its model is informed.
    let is_driven = waiting.batch.run.is_some_and(|run| engine.runs.get(run).is_some());
    if may_run(&record.decision)
        && !is_driven
        && let Some(why) = environment::obstacle(&engine, &waiting)
    {
        return Err(DecideError::OtherEnvironment(why));
    }
    if record.is_expiry() {
        let real =
            real_args(engine.sealing(), &waiting).unwrap_or_else(|_| waiting.request.args.clone());
        return Ok(Some(settle_expired(&engine, &waiting, &real).await));
    }
    run_again(engine, waiting, record).await
}

/// Resumes a child call and then its parent, and returns the parent's answer.
fn resume_with_parent(
    engine: Arc<EngineInner>,
    waiting: PendingApproval,
    record: DecisionRecord,
) -> BoxFuture<'static, Result<Option<Answer>, DecideError>> {
    Box::pin(async move {
        let within = waiting.batch.parent_call.as_deref();
        let parent = within.map(|within| Batch::clone(&within.parent));
        let id = parent.as_ref().and_then(|parent| parent.calls.first()).map(|call| call.id);
        let (Some(parent), Some(id)) = (parent, id) else { return Ok(None) };
        let lock = engine.parent_locks.lock_for(id);
        let _alone = lock.lock().await;
        if let Some(answer) = recorded_answer(&engine, id).await.map_err(store_error)? {
            return Ok(Some(answer));
        }
        // The outcome is recorded, and the parent looks it up.
        run_decided(Arc::clone(&engine), waiting, record, true).await?;
        let parent = Batch { is_replay: true, ..parent };
        Ok((engine.reentry.run)(Arc::clone(&engine), parent, None, None).await.pop())
    })
}

/// Runs the call again from stage 0, with the decision.
async fn run_again(
    engine: Arc<EngineInner>,
    waiting: PendingApproval,
    record: DecisionRecord,
) -> Result<Option<Answer>, DecideError> {
    let sealed =
        |error: SealError| DecideError::Store(format!("its arguments cannot be opened: {error}"));
    let real = real_args(engine.sealing(), &waiting).map_err(sealed)?;
    let resumed = ResumedCall { request: waiting.request, record };
    let args = resumed.args(engine.sealing(), real).map_err(sealed)?;
    let mut batch = waiting.batch;
    let call = batch.calls.drain(..).next().ok_or(DecideError::NotFound)?;
    let call = Call { args: RawArgs::Value(args), ..call };
    if let Err(error) = engine.claim().await {
        return Ok(Some(batch::claim_failed(call, &error)));
    }
    let run = batch.run.and_then(|id| engine.runs.get(id));
    let closed = batch.run.filter(|_| run.is_none()).map(not_open);
    let parent = batch
        .parent_call
        .map(|within| Arc::new(ParentContext { within: *within, cancel: None, slots: None }));
    let owner = ScopeOwner { origin: batch.origin, context: batch.context, view: batch.view, run };
    let options = ScopeOptions { is_replay: true, parent, ..ScopeOptions::default() };
    let scope = BatchScope::new(&engine, owner, 1, options);
    if let Some(error) = closed {
        // Outside its run the call would have no budget and could not be cancelled with the run.
        let call = Box::new(CallState::new(scope, call, None));
        return Ok(Some(pipeline::finish(call, Err(StageExit::Fail(error))).await));
    }
    Ok(Some(batch::run_resumed(scope, call, Box::new(resumed)).await))
}
