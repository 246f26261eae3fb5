//! Configured rate limits of a provider, as sliding windows.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Times of recent requests, as far back as the limits reach.
#[derive(Debug)]
pub(super) struct RateLimit {
    limits: Vec<(Duration, usize)>,
    sent: Mutex<VecDeque<Instant>>,
}

impl RateLimit {
    pub(super) fn new(per_minute: Option<u32>, per_hour: Option<u32>) -> Self {
        let limits = [(MINUTE, per_minute), (HOUR, per_hour)];
        let limits = limits.into_iter().filter_map(|(span, most)| {
            Some((span, usize::try_from(most?).unwrap_or(usize::MAX).max(1)))
        });
        Self { limits: limits.collect(), sent: Mutex::default() }
    }

    /// Counts a request that is sent now, or returns the time that it must wait.
    pub(super) fn acquire(&self, now: Instant) -> Result<(), Duration> {
        let Some(longest) = self.limits.iter().map(|(span, _)| *span).max() else { return Ok(()) };
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        while sent.front().is_some_and(|&at| at + longest <= now) {
            sent.pop_front();
        }
        // The request that must leave a window before the next one fits.
        let waits = self.limits.iter().filter_map(|&(span, most)| {
            let last = sent.get(sent.len().checked_sub(most)?)?;
            Some((*last + span).saturating_duration_since(now))
        });
        match waits.max().filter(|wait| !wait.is_zero()) {
            Some(wait) => Err(wait),
            None => {
                sent.push_back(now);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries requests at these seconds; each passes or has to wait for the given time.
    fn check(per_minute: Option<u32>, per_hour: Option<u32>, steps: &[(u64, u64)]) {
        let windows = RateLimit::new(per_minute, per_hour);
        let start = Instant::now();
        for (at, wait) in steps {
            let outcome = windows.acquire(start + Duration::from_secs(*at));
            let expected = if *wait == 0 { Ok(()) } else { Err(Duration::from_secs(*wait)) };
            assert_eq!(outcome, expected, "{per_minute:?} {per_hour:?} at {at} s");
        }
    }

    #[test]
    fn windows_slide() {
        check(None, None, &[(0, 0), (0, 0), (0, 0)]);
        check(Some(2), None, &[(0, 0), (10, 0), (20, 40), (59, 1), (60, 0), (61, 9), (70, 0)]);
        check(None, Some(1), &[(0, 0), (60, 3540), (3600, 0)]);
        check(Some(1), Some(2), &[(0, 0), (30, 30), (60, 0), (120, 3480), (3600, 0)]);
    }
}
