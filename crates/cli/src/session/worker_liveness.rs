//! Whether a worker drives a run: the holder of the claim under which it was started.

use toolcrib_app::Stores;
use toolcrib_core::{StoredRun, WorkerState};

use super::RunSetup;
use crate::output::Failure;

/// Returns whether the worker of the run is alive; a run of a dead worker can be resumed.
///
/// # Errors
/// Exit code 1 if the store or the run cannot be read.
pub(crate) async fn has_live_worker(run: &StoredRun, stores: &Stores) -> Result<bool, Failure> {
    let kept = run.state.get("setup").cloned().unwrap_or_default();
    let Some(worker) = RunSetup::from_value(&kept)?.worker else { return Ok(false) };
    let state = stores.calls.worker(worker).await;
    let state = state.map_err(|error| Failure::run(error.to_string()))?;
    Ok(matches!(state, WorkerState::Alive(_)))
}
