//! The result of a run that the daemon started for a task or a goal.

use toolcrib_app::runner::labels_of_run;
use toolcrib_core::{StoreError, StoredRun};

use super::supervisor::RunSupervisor;

/// Status of a run that completed.
const COMPLETED: &str = "completed";

/// The result of a run that has ended.
pub(crate) struct RunResult {
    /// Whether it completed.
    pub(crate) completed: bool,
    /// Its answer, or else its status with the message.
    pub(crate) text: String,
    /// The source of the untrusted text that it has read.
    pub(crate) untrusted: Option<String>,
}

/// Returns the result of a run that has ended.
pub(crate) async fn run_result(
    supervisor: &RunSupervisor,
    run: &StoredRun,
) -> Result<RunResult, StoreError> {
    let snapshot = supervisor.load_snapshot(run).await?;
    let status = snapshot.status.unwrap_or_default();
    let text = match snapshot.message {
        Some(message) if snapshot.text.is_empty() => format!("{status}: {message}"),
        _ => snapshot.text,
    };
    // The answer may repeat any text that the run has read. If the run cannot be read, assume that
    // it has read untrusted text.
    let untrusted = match labels_of_run(&*supervisor.stores().runs, run.id).await {
        Ok(labels) => labels.untrusted.map(|source| source.to_string()),
        Err(_) => Some("a run whose reading is not known".to_owned()),
    };
    Ok(RunResult { completed: status == COMPLETED, text, untrusted })
}
