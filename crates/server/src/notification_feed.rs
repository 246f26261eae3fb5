//! Publishes new notifications on the stream of everything, also those of other processes that use
//! the same store.

use std::collections::HashSet;
use std::time::Duration;

use toolcrib_core::{Clock as _, NotificationId, SystemClock};

use crate::run_supervisor::RunSupervisor;

/// Time between two looks at the store.
const LOOK: Duration = Duration::from_secs(1);
/// How far a look goes back, in milliseconds: a row of another process can be committed after rows
/// that were created later.
const OVERLAP_MS: i64 = 10_000;
/// Rows of one look.
const MOST: usize = 200;

/// Publishes until the daemon is told to stop.
pub(crate) async fn run_feed(supervisor: &RunSupervisor) {
    let started = SystemClock.now_ms();
    let mut seen: HashSet<NotificationId> = HashSet::new();
    loop {
        let since = (SystemClock.now_ms() - OVERLAP_MS).max(started);
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
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}
