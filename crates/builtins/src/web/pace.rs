//! Minimum time between two requests to a service.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Assigns a time to every request of this process.
pub(crate) struct Pace {
    gap: Duration,
    next: Mutex<Option<Instant>>,
}

impl Pace {
    pub(crate) fn new(gap: Duration) -> Self {
        Self { gap, next: Mutex::new(None) }
    }

    /// Reserves the next free time and returns the wait until then.
    ///
    /// # Errors
    /// The wait, if it is longer than `patience`; nothing is reserved then.
    pub(crate) fn reserve(&self, patience: Duration) -> Result<Duration, Duration> {
        let now = Instant::now();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = next.map_or(now, |next| next.max(now));
        let wait = at.duration_since(now);
        if wait > patience {
            return Err(wait);
        }
        *next = Some(at + self.gap);
        Ok(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_spaced_and_the_impatient_are_told_how_long() {
        let pace = Pace::new(Duration::from_secs(10));
        assert_eq!(pace.reserve(Duration::ZERO), Ok(Duration::ZERO));
        let wait = pace.reserve(Duration::from_secs(1)).unwrap_err();
        assert!(wait > Duration::from_secs(9));
        let second = pace.reserve(Duration::from_secs(30)).unwrap();
        let third = pace.reserve(Duration::from_secs(30)).unwrap();
        assert!(third > second + Duration::from_secs(9));
    }
}
