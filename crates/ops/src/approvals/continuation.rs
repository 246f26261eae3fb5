//! The component that continues a call after the decision about it.

use toolcrib_app::Stores;
use toolcrib_core::store::PendingApproval;
use toolcrib_core::{RunStatus, StoreError, StoredRun, WorkerState};

use super::decision_reply::ContinuedBy;
use crate::runs::{WORKER, has_live_worker, worker_of};

/// The component that continues a call after the decision about it, as the stores show it.
#[derive(Debug)]
pub enum Continuation {
    /// Another live process, which the text names.
    Elsewhere(String),
    /// Its run, which is paused or was left by a process that has ended.
    PausedRun(Box<StoredRun>),
    /// No process waits: the call has no stored run, and is carried out by the process that
    /// decides.
    Call,
    /// None: its run has ended.
    RunEnded,
}

impl Continuation {
    /// Returns the kind of component without the run itself, for replies.
    #[must_use]
    pub fn continued_by(&self) -> ContinuedBy {
        match self {
            Self::Elsewhere(_) => ContinuedBy::Elsewhere,
            Self::PausedRun(_) => ContinuedBy::Run,
            Self::Call => ContinuedBy::Call,
            Self::RunEnded => ContinuedBy::None,
        }
    }
}

/// Finds the component that continues the call of a question. `own` is the worker number of this
/// process, if it drives runs: a run of this worker that the caller does not drive was left.
///
/// # Errors
/// [`StoreError`] if the run or its worker cannot be read.
pub async fn continuation(
    stores: &Stores,
    pending: &PendingApproval,
    own: Option<u64>,
) -> Result<Continuation, StoreError> {
    let run = match pending.request.run {
        Some(id) => stores.runs.run(id).await?,
        None => None,
    };
    let Some(run) = run else { return of_single_call(stores, pending).await };
    if run.status == RunStatus::Ended {
        return Ok(Continuation::RunEnded);
    }
    let is_own = own.is_some() && worker_of(&run) == own;
    if run.status == RunStatus::Running && !is_own && has_live_worker(stores, &run).await? {
        return Ok(Continuation::Elsewhere(format!("the process that works on {}", run.id)));
    }
    Ok(Continuation::PausedRun(Box::new(run)))
}

/// A call without a stored run: a process at a terminal may wait for it (`waits` in its setup).
async fn of_single_call(
    stores: &Stores,
    pending: &PendingApproval,
) -> Result<Continuation, StoreError> {
    let setup = &pending.setup;
    let waits = setup.get("waits").and_then(|waits| waits.as_bool()).unwrap_or(false);
    let worker = setup.get(WORKER).and_then(|worker| worker.as_u64()).filter(|_| waits);
    let Some(worker) = worker else { return Ok(Continuation::Call) };
    Ok(match stores.calls.worker(worker).await? {
        WorkerState::Alive(who) => Continuation::Elsewhere(who),
        WorkerState::Gone | WorkerState::Unknown => Continuation::Call,
    })
}
