//! Publishes changes of drafts on the stream of everything, including changes of other processes
//! that use the same store.

use std::collections::HashMap;
use std::time::Duration;

use toolcrib_app::StateChanges;
use toolcrib_assistant::draft::DraftError;

use crate::run_supervisor::RunSupervisor;

/// Shortest time between two reads of the store; changes of this process are published at once.
const LOOK: Duration = Duration::from_secs(1);

/// Publishes until the daemon is told to stop.
pub(crate) async fn run_feed(supervisor: &RunSupervisor, mut changes: StateChanges) {
    let mut last: Option<HashMap<String, i64>> = None;
    loop {
        match look(supervisor, last.as_ref()).await {
            Ok(seen) => last = Some(seen),
            Err(error) => tracing::warn!(%error, "drafts could not be read"),
        }
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => return,
            () = supervisor.toolcrib().drafts().written() => {}
            () = changes.next(LOOK) => {}
        }
    }
}

/// Publishes the changes since the last read; the first read only remembers its position. Returns
/// the number of each owner's last change.
async fn look(
    supervisor: &RunSupervisor,
    last: Option<&HashMap<String, i64>>,
) -> Result<HashMap<String, i64>, DraftError> {
    let drafts = supervisor.toolcrib().drafts();
    let mut seen = last.cloned().unwrap_or_default();
    for owner in drafts.owners().await? {
        let before = seen.get(&owner).copied().unwrap_or_default();
        let (number, ids) = drafts.changes_after(&owner, before).await?;
        seen.insert(owner.clone(), number);
        if last.is_none() {
            continue;
        }
        for id in ids {
            match drafts.get(&owner, &id).await {
                Ok(draft) => supervisor.publish_draft(&owner, &draft),
                // An old draft was removed for a newer one.
                Err(DraftError::Unknown(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(seen)
}
