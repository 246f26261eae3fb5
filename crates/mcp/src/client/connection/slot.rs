//! The slot of a live connection, with the time of the next connection attempt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::live::LiveConnection;

/// Longest wait between two attempts; the first is 1 s.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct ConnectionSlot {
    pub(super) live: Option<Arc<LiveConnection>>,
    pub(super) failures: u32,
    pub(super) retry_at: Option<Instant>,
}

impl ConnectionSlot {
    /// Counts a failed attempt; the next one waits longer.
    pub(super) fn back_off(&mut self) {
        let wait = Duration::from_secs(1 << self.failures.min(6)).min(LONGEST_BACKOFF);
        self.failures += 1;
        self.retry_at = Some(Instant::now() + wait);
    }
}
