//! Checks that a conversation can be continued: it must exist, and no other run may be active in
//! it.

use toolcrib_app::Stores;
use toolcrib_core::{ConversationId, RunStatus};
use toolcrib_ops::runs;

use crate::output::Failure;

/// Maximum number of runs that are checked; older ones have ended.
const MAX_RUNS: usize = 1_000;

/// Returns the conversation, if a new run may start in it.
///
/// # Errors
/// Exit code 4 for one that does not exist, 2 while a run is active or waits in it: two runs would
/// overwrite each other's messages.
pub(crate) async fn check_continuable(
    stores: &Stores,
    id: ConversationId,
) -> Result<ConversationId, Failure> {
    if stores.runs.conversation(id).await?.is_none() {
        return Err(Failure::not_found(format!("there is no conversation {id}")));
    }
    for status in [RunStatus::Running, RunStatus::Paused] {
        let runs = stores.runs.runs("", Some(status), MAX_RUNS).await?;
        for run in runs.iter().filter(|run| run.conversation == id) {
            // A claim of a dead process is ignored.
            if status == RunStatus::Running && !runs::has_live_worker(stores, run).await? {
                continue;
            }
            let (run, does) = match status {
                RunStatus::Paused => (run.id, "waits for a person"),
                _ => (run.id, "is being worked on"),
            };
            return Err(Failure::usage(format!(
                "the run {run} {does} in this conversation; finish it with `toolcrib resume {run}`, or begin a new conversation"
            )));
        }
    }
    Ok(id)
}
