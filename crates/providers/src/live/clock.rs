//! Time, so that tests need not wait for it.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use toolcrib_core::BoxFuture;

/// Where an endpoint takes the time from and how it waits: for retries, its circuit breaker and its own rate limits. The limits of one
/// exchange (connect, idle, total) always run on tokio's clock.
pub trait Clock: Send + Sync {
    /// The time for measuring.
    fn now(&self) -> Instant;

    /// The time of day, for a `Retry-After` that is a date.
    fn wall(&self) -> SystemTime;

    /// Waits.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;
}

/// Tokio's clock and the system's time of day.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }
}
