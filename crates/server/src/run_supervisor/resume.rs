//! Resumes the object of a decision: the run that waits for it, or the call alone.

use std::collections::HashMap;
use std::time::Duration;

use toolcrib_app::runner::labels_of_run;
use toolcrib_core::store::{AcceptedBatch, PendingApproval};
use toolcrib_core::{
    ApprovalId, ApprovalRequest, BatchId, Invoker as _, RunId, RunSpec, StoreError, StoredRun,
};
use toolcrib_ops::approvals::{Continuation, ContinuedBy, continuation};

use super::drive::{ResumeOptions, take_run};
use super::supervisor::RunSupervisor;

/// Interval for retrying a run that is open in the engine, if no notification arrives. Requests of
/// this daemon notify when they end, but a program that embeds the daemon may open the run through
/// the same engine, which does not notify.
const REOPEN_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The component that resumes a call after the decision about it.
pub(crate) enum ResumeTarget {
    /// A run that this daemon drives; it checks for decisions itself.
    LocalRun,
    /// A run that is paused or abandoned; this daemon takes it.
    Run(Box<StoredRun>),
    /// Another process, which waits for the decision.
    OtherProcess,
    /// No run: this daemon resumes the call alone.
    Call,
    /// No run: the call waits for a process with another environment or with its tool. The text
    /// explains why this process cannot resume it.
    OtherEnvironment(String),
    /// None: its run has ended.
    Ended,
}

impl ResumeTarget {
    /// Returns the kind of target without the run itself, for replies.
    pub(crate) fn continued_by(&self) -> ContinuedBy {
        match self {
            Self::LocalRun | Self::Run(_) => ContinuedBy::Run,
            Self::OtherProcess | Self::OtherEnvironment(_) => ContinuedBy::Elsewhere,
            Self::Call => ContinuedBy::Call,
            Self::Ended => ContinuedBy::None,
        }
    }
}

/// Returns the component that a decision about this question resumes.
pub(crate) async fn resume_target(
    supervisor: &RunSupervisor,
    pending: &PendingApproval,
) -> Result<ResumeTarget, StoreError> {
    if pending.request.run.is_some_and(|id| supervisor.is_driving(id)) {
        return Ok(ResumeTarget::LocalRun);
    }
    let engine = supervisor.toolcrib().engine();
    let own = engine.claim().await?;
    Ok(match continuation(supervisor.stores(), pending, Some(own)).await? {
        Continuation::RunEnded => ResumeTarget::Ended,
        Continuation::Elsewhere(_) => ResumeTarget::OtherProcess,
        Continuation::PausedRun(run) => ResumeTarget::Run(run),
        Continuation::Call => engine
            .decision_obstacle(pending)
            .map_or(ResumeTarget::Call, ResumeTarget::OtherEnvironment),
    })
}

/// An accepted batch that resumes a call once a decision is stored.
pub(crate) struct StoredPromise {
    /// The call, or the parent call that resumes it.
    pub(crate) batch: AcceptedBatch,
    /// For a child call: the question, and its run.
    child: Option<(ApprovalId, Option<RunId>)>,
}

/// Stores a promise to resume a call that has no run, before the decision is stored.
pub(crate) async fn store_promise(
    supervisor: &RunSupervisor,
    pending: &PendingApproval,
) -> Result<StoredPromise, StoreError> {
    let batch = supervisor.toolcrib().engine().promise(pending).await?;
    let parent = pending.batch.parent_call.as_deref();
    let child = parent.map(|_| (pending.request.id, pending.request.run));
    Ok(StoredPromise { batch, child })
}

/// Resumes the decided run or call in a separate task. Returns whether a run was taken for it: that
/// write survives a power loss, together with every earlier write.
pub(crate) async fn resume(
    supervisor: &RunSupervisor,
    target: ResumeTarget,
    promise: Option<StoredPromise>,
) -> bool {
    let mut is_taken = false;
    match target {
        // The run may be about to pause because it checked for a decision before the decision was
        // stored.
        ResumeTarget::LocalRun => supervisor.wake(),
        ResumeTarget::Run(run) => {
            match take_run(supervisor, *run, ResumeOptions::default()).await {
                // A run that is already driven was taken before the decision.
                Ok((_, is_new)) => is_taken = is_new,
                Err(error) => {
                    // The decision is stored, so the recovery loop tries again.
                    tracing::warn!(%error, "a run could not be resumed at once after a decision");
                    supervisor.wake();
                }
            }
        }
        ResumeTarget::Call
        | ResumeTarget::Ended
        | ResumeTarget::OtherProcess
        | ResumeTarget::OtherEnvironment(_) => {}
    }
    if let Some(StoredPromise { batch, child }) = promise {
        let supervisor = supervisor.clone();
        tokio::spawn(async move {
            match child {
                None => finish_batch(&supervisor, batch).await,
                Some((question, run)) => {
                    resume_child_call(&supervisor, question, run, batch.id).await;
                }
            }
        });
    }
    is_taken
}

/// Resumes a child call, and then its parent.
async fn resume_child_call(
    supervisor: &RunSupervisor,
    question: ApprovalId,
    run: Option<RunId>,
    batch: BatchId,
) {
    let _open = match run {
        None => None,
        Some(run) => match reopen_run(supervisor, run).await {
            Ok(run) => Some(run),
            Err(error) => {
                // The batch stays accepted and is recovered later.
                tracing::warn!(%question, %error, "a decided call cannot be resumed now");
                return;
            }
        },
    };
    match supervisor.toolcrib().engine().resume(question).await {
        // The child call has ended, or waits for the next decision, which stores a separate
        // promise.
        Ok(_) => drop(supervisor.stores().calls.finish_batch(batch).await),
        Err(error) => tracing::warn!(%question, %error, "a decided call was not resumed"),
    }
}

/// Finishes an accepted batch. The runs of calls of responses are open in the engine until then. A
/// batch whose approved call lacks its tool is kept for the next recovery: a server that is still
/// connecting may provide the tool, and the approval must not be used up without it.
pub(super) async fn finish_batch(supervisor: &RunSupervisor, batch: AcceptedBatch) {
    if let Some(why) = obstacle(supervisor, &batch).await {
        tracing::warn!(batch = %batch.id, why, "an accepted batch is left for later");
        supervisor.postponed_batches().push(batch);
        return;
    }
    // A parent call runs again in its original run.
    let mut runs: Vec<RunId> =
        batch.batch.run.filter(|_| batch.batch.is_replay).into_iter().collect();
    for call in &batch.batch.calls {
        let question = supervisor.stores().approvals.for_call(call.id).await;
        runs.extend(question.ok().flatten().and_then(|(pending, _)| pending.request.run));
    }
    let mut open = Vec::new();
    for run in runs {
        match reopen_run(supervisor, run).await {
            Ok(run) => open.push(run),
            Err(error) => {
                // The batch stays accepted and is recovered later.
                tracing::warn!(%run, %error, "a decided call cannot be resumed now");
                return;
            }
        }
    }
    let _answers = supervisor.toolcrib().engine().finish(batch).await;
}

/// Returns the postponed batches that can now be finished, and removes them from the list.
pub(super) async fn take_due_batches(supervisor: &RunSupervisor) -> Vec<AcceptedBatch> {
    let postponed = std::mem::take(&mut *supervisor.postponed_batches());
    let mut due = Vec::new();
    for batch in postponed {
        match obstacle(supervisor, &batch).await {
            Some(_) => supervisor.postponed_batches().push(batch),
            None => due.push(batch),
        }
    }
    due
}

/// Returns the reason why this process cannot finish a batch with an approved call now.
async fn obstacle(supervisor: &RunSupervisor, batch: &AcceptedBatch) -> Option<String> {
    for call in &batch.batch.calls {
        let Ok(Some((pending, _))) = supervisor.stores().approvals.for_call(call.id).await else {
            continue;
        };
        let why = supervisor.toolcrib().engine().obstacle(&pending);
        if why.is_some() && pending.request.question.is_none() {
            return why;
        }
    }
    None
}

/// Opens a run in the engine for decided calls, with its taint labels. A run whose labels cannot be
/// read must not continue as if it were untainted.
async fn reopen_run(supervisor: &RunSupervisor, run: RunId) -> Result<ReopenedRun, StoreError> {
    let labels = labels_of_run(&*supervisor.stores().runs, run).await;
    let labels = labels.map_err(|error| StoreError::Failed(error.to_string()))?;
    loop {
        let mut request_ended = std::pin::pin!(supervisor.request_ended());
        // Register before the attempt, so that no notification is missed.
        request_ended.as_mut().enable();
        {
            let mut reopened = supervisor.reopened_runs();
            let calls = reopened.get(&run).copied().unwrap_or(0);
            let spec = RunSpec { id: Some(run), labels: labels.clone(), ..RunSpec::default() };
            if calls > 0 || supervisor.toolcrib().engine().open_run(spec).is_ok() {
                reopened.insert(run, calls + 1);
                return Ok(ReopenedRun { supervisor: supervisor.clone(), run });
            }
        }
        // The other calls of the response still run; the run is closed when they end. Open runs are
        // state of this process, so decisions of other processes do not matter here; the recovery
        // loop finds those.
        let _ = tokio::time::timeout(REOPEN_POLL_INTERVAL, request_ended).await;
    }
}

/// A run of a response that is open in the engine for one or more decided calls.
struct ReopenedRun {
    supervisor: RunSupervisor,
    run: RunId,
}

impl Drop for ReopenedRun {
    fn drop(&mut self) {
        let mut reopened = self.supervisor.reopened_runs();
        let left = reopened.get_mut(&self.run).map_or(0, |calls| {
            *calls -= 1;
            *calls
        });
        if left == 0 {
            reopened.remove(&self.run);
            self.supervisor.toolcrib().engine().close_run(self.run);
        }
    }
}

/// Returns whether one of these questions is decided or has expired, so that its run can be
/// resumed.
pub(super) fn has_decided(
    questions: &[ApprovalId],
    pending: &HashMap<ApprovalId, ApprovalRequest>,
    now_ms: i64,
) -> bool {
    questions.iter().any(|id| pending.get(id).is_none_or(|request| request.is_expired(now_ms)))
}
