//! Clock of an endpoint, so that tests need not wait.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use toolcrib_core::BoxFuture;

/// Time source of an endpoint: for retries, its circuit breaker and its rate limits. The timeouts
/// of one exchange (connect, idle, total) always use tokio's clock.
pub trait Clock: Send + Sync {
    /// Returns the monotonic time.
    fn now(&self) -> Instant;

    /// Returns the wall-clock time, for a `Retry-After` that is a date.
    fn wall(&self) -> SystemTime;

    /// Waits.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;
}

/// Tokio's clock and the system's wall clock.
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
