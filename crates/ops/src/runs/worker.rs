//! The worker of a run: the holder of the claim in the store under which the run is driven.

use serde_json::Value;
use toolcrib_app::Stores;
use toolcrib_core::{StoreError, StoredRun, WorkerState};

/// Member of a run's setup: the number of its worker (`CallStore::claim`).
pub const WORKER: &str = "worker";

/// Returns the number of the worker of a run; `None` if it was stored without one.
#[must_use]
pub fn worker_of(run: &StoredRun) -> Option<u64> {
    run.state.get("setup")?.get(WORKER).and_then(Value::as_u64)
}

/// Returns whether the worker of the run is alive; another process can resume a run of a dead
/// worker.
///
/// # Errors
/// [`StoreError`] if the worker cannot be read.
pub async fn has_live_worker(stores: &Stores, run: &StoredRun) -> Result<bool, StoreError> {
    let Some(worker) = worker_of(run) else { return Ok(false) };
    Ok(matches!(stores.calls.worker(worker).await?, WorkerState::Alive(_)))
}
