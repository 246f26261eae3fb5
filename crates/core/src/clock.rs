//! Wall-clock time behind a trait, so that tests can set it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Source of wall-clock time. Timeouts never use it: they use the monotonic clock.
pub trait Clock: Send + Sync {
    /// Returns the Unix time in milliseconds.
    fn now_ms(&self) -> i64;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
    }
}
