//! Monitors on a separate connection whether the server answers.
//!
//! A stopped server refuses connections; one that hangs, or whose network is cut, keeps statements
//! waiting. Both count as unavailable after the same time, and then reads and writes fail at once
//! instead of each waiting for its own timeout.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use toolcrib_core::StoreError;

use super::connection::{Connection, Connector};

/// Pause between two probes.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long the server may take to answer a probe.
const ANSWER: Duration = Duration::from_secs(1);
/// A server that has not answered for this long is unavailable. Shorter pauses, such as a restart,
/// only delay reads and writes. With one interval and one answer more, a request fails within 5 s.
const AWAY_AFTER: Duration = Duration::from_millis(2_500);

/// The state of the server. Clones share it.
#[derive(Clone)]
pub(super) struct Availability {
    is_away: Arc<watch::Sender<bool>>,
}

impl Availability {
    pub(super) fn new() -> Self {
        Self { is_away: Arc::new(watch::Sender::new(false)) }
    }

    pub(super) fn is_away(&self) -> bool {
        *self.is_away.borrow()
    }

    /// Resolves when the server is unavailable.
    pub(super) async fn away(&self) {
        self.changed_to(true).await;
    }

    /// Resolves when the server answers.
    pub(super) async fn back(&self) {
        self.changed_to(false).await;
    }

    async fn changed_to(&self, state: bool) {
        let mut changes = self.is_away.subscribe();
        // The sender lives as long as `self`, so there is no error.
        let _ = changes.wait_for(|is_away| *is_away == state).await;
    }

    /// Probes the server until the task is aborted.
    pub(super) async fn watch(self, connector: Connector) {
        let mut link: Option<Connection> = None;
        let mut failing: Option<Instant> = None;
        loop {
            sleep(INTERVAL).await;
            let asked = Instant::now();
            let answered = timeout(ANSWER, ask(&mut link, &connector)).await.unwrap_or(false);
            let is_away = if answered {
                failing = None;
                false
            } else {
                link = None;
                failing.get_or_insert(asked).elapsed() >= AWAY_AFTER
            };
            self.is_away.send_if_modified(|state| std::mem::replace(state, is_away) != is_away);
        }
    }
}

/// Returns whether the server answers a statement.
async fn ask(link: &mut Option<Connection>, connector: &Connector) -> bool {
    let open = match link.take().filter(|link| !link.is_closed()) {
        Some(open) => open,
        None => match connector.open().await {
            Ok(open) => open,
            Err(_) => return false,
        },
    };
    let answered = open.batch_execute("SELECT 1").await.is_ok();
    *link = Some(open).filter(|_| answered);
    answered
}

/// Returns the error for an unavailable server.
pub(super) fn away(place: &str) -> StoreError {
    StoreError::Busy(format!("the database {place} does not answer; try again when it does"))
}
