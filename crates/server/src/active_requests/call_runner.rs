//! Runs the calls of requests. A call that was admitted runs to its end, also when its client
//! disconnects; its outcome is found by its id. A call whose client may stop waiting, or that has
//! an idempotency key, is stored before it runs.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use toolcrib_app::{SubmitError, Submitted, Toolcrib};
use toolcrib_core::{Answer, Batch, Call, CallId, Invoker as _};

use super::active_call_table::{ActiveCall, ActiveCallTable, active_calls};
use super::batch;
use crate::admission::{Admission, AdmittedCaller, CallRefused, FairQueue, Permit, START_TIME};
use crate::detach_on_drop::DetachOnDrop;
use crate::problem::{Code, Problem};
use crate::role::Principal;
use crate::run_supervisor::RunSupervisor;
use crate::telemetry::{self, Telemetry};

/// Maximum number of calls in one batch.
pub(crate) const MAX_BATCH_CALLS: usize = 100;
/// Time for cancelled calls to record their outcome.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// Runs the calls of requests. Clones share the table of active calls.
#[derive(Clone)]
pub(crate) struct CallRunner {
    toolcrib: Toolcrib,
    telemetry: Telemetry,
    admission: Arc<Admission>,
    supervisor: RunSupervisor,
    active: Arc<ActiveCallTable>,
}

/// The state of calls when the client's wait time is over.
pub(crate) enum CallsReply {
    /// All calls have an answer.
    Answers(Vec<Answer>),
    /// The calls continue under these ids.
    Accepted(Vec<CallId>),
}

impl CallRunner {
    pub(crate) fn new(
        toolcrib: Toolcrib,
        telemetry: Telemetry,
        admission: Arc<Admission>,
        supervisor: RunSupervisor,
    ) -> Self {
        Self { toolcrib, telemetry, admission, supervisor, active: Arc::default() }
    }

    /// Returns the calls that have not ended.
    pub(crate) fn active(&self) -> &ActiveCallTable {
        &self.active
    }

    /// Returns the queue in front of calls.
    pub(crate) fn queue(&self) -> &FairQueue {
        self.admission.calls.queue()
    }

    /// Builds a batch of these calls, with the identity and the view of this principal.
    pub(crate) fn build_batch(&self, principal: &Principal, calls: Vec<Call>) -> Batch {
        batch::build_batch(&self.toolcrib, &self.telemetry, principal, calls)
    }

    /// Waits for slots for this many calls.
    ///
    /// # Errors
    /// [`CallRefused`].
    pub(crate) async fn acquire_permit(
        &self,
        caller: &AdmittedCaller,
        calls: usize,
    ) -> Result<Permit, CallRefused> {
        self.admission.calls.acquire(caller, calls).await
    }

    /// Runs calls to their end, or replies after `wait` while they continue. With `wait` or a key,
    /// they are stored first. Dropping the future does not stop calls that were admitted.
    ///
    /// # Errors
    /// [`CallRefused`] and [`SubmitError`]; no call was run in either case.
    pub(crate) async fn run(
        &self,
        caller: &AdmittedCaller,
        batch: Batch,
        wait: Option<Duration>,
        key: Option<&str>,
    ) -> Result<CallsReply, Problem> {
        let since = Instant::now();
        let permit = self.admission.calls.acquire_within(caller, batch.calls.len(), wait).await?;
        if wait.is_none() && key.is_none() {
            let calls = active_calls(&batch, batch.calls.iter().map(|call| call.id));
            let engine = self.toolcrib.engine().clone();
            let work = async move { Ok(engine.invoke(batch).await) };
            let answers = self.run_detached(calls, permit, work).await?;
            return Ok(self.calls_reply(caller, answers));
        }
        // If the caller sends no key, the batch is stored under the id of its first call.
        let own = batch.calls.first().map(|call| call.id.to_string()).unwrap_or_default();
        let key = key.map_or(own, str::to_owned);
        let (accept, accepted) = oneshot::channel();
        let permit = Arc::new(permit);
        let work = self.clone().accept_and_run(batch, key, Arc::clone(&permit), accept);
        let mut answers = tokio::spawn(telemetry::with_request_context(run_starting(permit, work)));
        // The sender was dropped: the batch was not accepted, and the task returns the error.
        let Ok(calls) = accepted.await else {
            return join_task(answers).await.map(|_| CallsReply::Accepted(Vec::new()));
        };
        let answers = match wait {
            None => join_task(answers).await?,
            Some(wait) => {
                let left = wait.saturating_sub(since.elapsed());
                match tokio::time::timeout(left, join_task(&mut answers)).await {
                    Ok(answers) => answers?,
                    Err(_) => None,
                }
            }
        };
        Ok(answers.map_or(CallsReply::Accepted(calls), |answers| self.calls_reply(caller, answers)))
    }

    /// Counts refused calls against the request limit of their client, except the first call, which
    /// the request itself already counted. Refused calls are recorded, and no other limit slows
    /// them down.
    pub(crate) fn charge_refused(&self, caller: &Principal, answers: &[Answer]) {
        let is_refused = |answer: &&Answer| {
            let outcome = answer.outcome();
            outcome.is_some_and(|outcome| outcome.result.is_err() && outcome.report.attempts == 0)
        };
        let refused = answers.iter().filter(is_refused).count();
        self.admission.rates.charge(&caller.client, refused.saturating_sub(1));
    }

    /// Stores calls, sends their ids, and runs them. `None` if another process has taken the calls
    /// over; their outcomes are found by id.
    async fn accept_and_run(
        self,
        batch: Batch,
        key: String,
        permit: Arc<Permit>,
        accept: oneshot::Sender<Vec<CallId>>,
    ) -> Result<Option<Vec<Answer>>, Problem> {
        let (mut until_it_ends, mut is_known) = (None, false);
        let accepted = |submitted: &Submitted| {
            is_known = submitted.is_known;
            let calls = active_calls(&batch, submitted.calls.iter().copied());
            until_it_ends = Some(self.active.register(&self.supervisor, calls, permit));
            let _ = accept.send(submitted.calls.clone());
        };
        let answers = self.toolcrib.engine().accept_once(batch.clone(), &key, accepted).await;
        match answers {
            Err(SubmitError::RunningElsewhere(_)) if !is_known => Ok(None),
            // The same key was sent to another daemon before: wait for that daemon's answers.
            Err(SubmitError::RunningElsewhere(_)) => {
                Ok(Some(self.toolcrib.batch_with_key(batch, &key).await?))
            }
            answers => answers.map(Some).map_err(Problem::from),
        }
    }

    /// Wakes the supervisor if a call waits for a person, so that subscribers learn of the question
    /// before the next scan.
    fn calls_reply(&self, caller: &Principal, answers: Vec<Answer>) -> CallsReply {
        self.charge_refused(caller, &answers);
        if answers.iter().any(|answer| answer.outcome().is_none()) {
            self.supervisor.wake();
        }
        CallsReply::Answers(answers)
    }

    /// Runs work that makes calls, to its end, while holding their permit. Dropping the future does
    /// not stop the work.
    ///
    /// # Errors
    /// The errors of the work.
    pub(crate) async fn run_with_permit<T: Send + 'static>(
        &self,
        permit: Permit,
        work: impl Future<Output = Result<T, Problem>> + Send + 'static,
    ) -> Result<T, Problem> {
        // The ids of its calls are not known yet.
        self.run_detached(Vec::new(), permit, work).await
    }

    async fn run_detached<T: Send + 'static>(
        &self,
        calls: Vec<(CallId, ActiveCall)>,
        permit: Permit,
        work: impl Future<Output = Result<T, Problem>> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = Arc::new(permit);
        let request = self.active.register(&self.supervisor, calls, Arc::clone(&permit));
        let work = telemetry::with_request_context(async move {
            let _until_it_ends = request;
            run_starting(permit, work).await
        });
        DetachOnDrop::new(work).await.unwrap_or_else(|_| {
            tracing::error!("a call panicked outside the engine");
            Err(task_failed())
        })
    }

    /// Waits until all calls have ended, for at most `limit`; then cancels those that are left.
    pub(crate) async fn drain(&self, limit: Duration) {
        if tokio::time::timeout(limit, self.active.wait_until_idle()).await.is_ok() {
            return;
        }
        // Calls of runs are left to the supervisor, which drains the runs.
        let stopped = self
            .toolcrib
            .engine()
            .cancel_all(|call| !call.run.is_some_and(|run| self.supervisor.is_driving(run)));
        tracing::warn!(calls = stopped.len(), "calls were cancelled because the daemon stops");
        let _ = tokio::time::timeout(CANCEL_GRACE, self.active.wait_until_idle()).await;
    }
}

/// Runs work under a permit, which stops starting after [`START_TIME`].
async fn run_starting<T>(permit: Arc<Permit>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    match tokio::time::timeout(START_TIME, work.as_mut()).await {
        Ok(done) => done,
        Err(_) => {
            permit.mark_started();
            drop(permit);
            work.await
        }
    }
}

async fn join_task<T>(
    work: impl Future<Output = Result<Result<T, Problem>, tokio::task::JoinError>>,
) -> Result<T, Problem> {
    work.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a task of the daemon panicked");
        Err(task_failed())
    })
}

fn task_failed() -> Problem {
    let detail = "the daemon failed; whether the call took effect is unknown, check before you send it again";
    Problem::new(Code::Internal, detail)
}
