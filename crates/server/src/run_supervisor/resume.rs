//! Resumes what a decision was about: the run that waits for it, or the call alone.

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

/// Time after which a run that is open in the engine is tried again without a notification.
/// Requests of this daemon notify when they end, but a program that embeds the daemon may open the
/// run through the same engine, which does not notify.
const REOPEN_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What resumes a call after the decision about it.
pub(crate) enum ResumeTarget {
    /// A run that this daemon drives; it looks for decisions itself.
    LocalRun,
    /// A run that is paused or abandoned.
    Run(Box<StoredRun>),
    /// Another process, which waits for the decision.
    OtherProcess,
    /// No run: the call is resumed alone.
    Call,
    /// No run, and a process with another environment or with the tool: the call waits for that
    /// process. The text says why it is not this one.
    OtherEnvironment(String),
    /// Nothing: its run has ended.
    Ended,
}

impl ResumeTarget {
    /// The same without the run itself, for replies.
    pub(crate) fn continued_by(&self) -> ContinuedBy {
        match self {
            Self::LocalRun | Self::Run(_) => ContinuedBy::Run,
            Self::OtherProcess | Self::OtherEnvironment(_) => ContinuedBy::Elsewhere,
            Self::Call => ContinuedBy::Call,
            Self::Ended => ContinuedBy::Nobody,
        }
    }
}

/// What a decision about this question resumes.
pub(crate) async fn resume_target(
    supervisor: &RunSupervisor,
    pending: &PendingApproval,
) -> Result<ResumeTarget, StoreError> {
    if pending.request.run.is_some_and(|id| supervisor.is_driving(id)) {
        return Ok(ResumeTarget::LocalRun);
    }
    let engine = supervisor.toolcrib().engine();
    let own = engine.claim().await?;
    let worker_of = |run: &StoredRun| supervisor.host().worker_of(run);
    let found = continuation(supervisor.stores(), pending, worker_of, Some(own)).await?;
    Ok(match found {
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
    /// The call; or its parent call, which resumes it.
    pub(crate) batch: AcceptedBatch,
    /// For a child call: the question, and its run.
    child: Option<(ApprovalId, Option<RunId>)>,
}

/// Promises that a call that is resumed alone is carried out, before the decision is stored.
pub(crate) async fn store_promise(
    supervisor: &RunSupervisor,
    pending: &PendingApproval,
) -> Result<StoredPromise, StoreError> {
    let batch = supervisor.toolcrib().engine().promise(pending).await?;
    let parent = pending.batch.parent_call.as_deref();
    let child = parent.map(|_| (pending.request.id, pending.request.run));
    Ok(StoredPromise { batch, child })
}

/// Resumes what was decided, on a task of its own. Returns whether a run was taken for it: that
/// write survives a power loss, and so does every write before it.
pub(crate) async fn resume(
    supervisor: &RunSupervisor,
    target: ResumeTarget,
    promise: Option<StoredPromise>,
) -> bool {
    let mut is_taken = false;
    match target {
        // The run may be about to pause, having looked for a decision before it was stored.
        ResumeTarget::LocalRun => supervisor.wake(),
        ResumeTarget::Run(run) => {
            match take_run(supervisor, *run, ResumeOptions::default()).await {
                // One that is driven already was taken before the decision.
                Ok((_, is_new)) => is_taken = is_new,
                Err(error) => {
                    // The decision is stored: the recovery loop tries again.
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
        // It has ended, or waits for the next decision, which stores a promise of its own.
        Ok(_) => drop(supervisor.stores().calls.finish_batch(batch).await),
        Err(error) => tracing::warn!(%question, %error, "a decided call was not resumed"),
    }
}

/// Finishes an accepted batch. The runs of calls of responses are open in the engine until then. A
/// batch whose approved call lacks its tool is kept for the next recovery: the tool of a server
/// that is still connecting comes back, and an approval is not used up without it.
pub(super) async fn finish_batch(supervisor: &RunSupervisor, batch: AcceptedBatch) {
    if let Some(why) = obstacle(supervisor, &batch).await {
        tracing::warn!(batch = %batch.id, why, "an accepted batch is left for later");
        supervisor.postponed_batches().push(batch);
        return;
    }
    // A parent call runs again in the run that it was in.
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

/// The postponed batches that can be carried out by now.
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

/// Why a batch with an approved call cannot be carried out here now.
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
        // Registered before the attempt, so that no notification is missed.
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
        // The other calls of its response still run; the run is closed when they end. Open runs are
        // state of this process, so decisions of other processes do not matter here: those are
        // found by the recovery loop.
        let _ = tokio::time::timeout(REOPEN_POLL_INTERVAL, request_ended).await;
    }
}

/// A run of a response that is open in the engine for one decided call or more.
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

/// Whether one of these questions is decided or has expired, so that its run can be resumed.
pub(super) fn has_decided(
    questions: &[ApprovalId],
    pending: &HashMap<ApprovalId, ApprovalRequest>,
    now_ms: i64,
) -> bool {
    questions.iter().any(|id| pending.get(id).is_none_or(|request| request.is_expired(now_ms)))
}
