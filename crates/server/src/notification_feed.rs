//! Publishes new notifications on the stream of everything, including those of other processes that
//! use the same store.

use std::collections::HashSet;
use std::time::Duration;

use toolcrib_app::StateChanges;
use toolcrib_core::{Clock as _, NotificationId, SystemClock};

use crate::run_supervisor::RunSupervisor;

/// Shortest time between two reads of the store.
const LOOK: Duration = Duration::from_secs(1);
/// Milliseconds by which consecutive reads overlap: another process may commit a row after rows
/// that were created later.
const OVERLAP_MS: i64 = 10_000;
/// Maximum number of rows per read.
const MOST: usize = 200;

/// Publishes until the daemon is told to stop.
pub(crate) async fn run_feed(supervisor: &RunSupervisor, mut changes: StateChanges) {
    let started = SystemClock.now_ms();
    let mut last_read = started;
    let mut seen: HashSet<NotificationId> = HashSet::new();
    loop {
        let since = (last_read - OVERLAP_MS).max(started);
        last_read = SystemClock.now_ms();
        match supervisor.toolcrib().notifier().since(since, MOST).await {
            Ok(rows) => {
                for row in &rows {
                    if !seen.contains(&row.id) {
                        let id = row.id.to_string();
                        supervisor.publish_notification(&row.owner, &id, row.dismissed_at);
                    }
                }
                seen = rows.into_iter().map(|row| row.id).collect();
            }
            Err(error) => tracing::warn!(%error, "notifications could not be read"),
        }
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => return,
            () = changes.next(LOOK) => {}
        }
    }
}
