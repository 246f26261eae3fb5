//! A clock that is set by hand.

use std::sync::atomic::{AtomicI64, Ordering};

use toolcrib_core::Clock;

/// Wall-clock time that moves only when told to.
#[derive(Debug, Default)]
pub struct FakeClock(AtomicI64);

impl FakeClock {
    /// A clock that shows this many milliseconds since 1970.
    #[must_use]
    pub fn at(ms: i64) -> Self {
        Self(AtomicI64::new(ms))
    }

    /// Moves it.
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
