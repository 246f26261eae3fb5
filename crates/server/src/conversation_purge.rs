//! Removes deleted conversations for good whose 30 days are over, also in a daemon that runs for
//! months and deletes nothing else.

use std::time::Duration;

use toolcrib_ops::conversations;

use crate::run_supervisor::RunSupervisor;

/// A deleted conversation is removed at most this long after its 30 days.
const INTERVAL: Duration = Duration::from_hours(1);

/// Removes them at the start of the daemon and once an hour, until the daemon is told to stop.
pub(crate) async fn run_purge(supervisor: &RunSupervisor) {
    loop {
        if let Err(error) = conversations::purge(supervisor.stores()).await {
            tracing::warn!(%error, "deleted conversations could not be removed");
        }
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}
