//! A token bucket: allows a burst, and a rate in the long run.

use std::time::Instant;

/// Allows `burst` events at once, and `per_second` of them in the long run.
#[derive(Debug)]
pub(super) struct TokenBucket {
    burst: f64,
    per_second: f64,
    left: f64,
    at: Instant,
}

impl TokenBucket {
    pub(super) fn new(burst: u32, per_second: u32) -> Self {
        let burst = f64::from(burst);
        Self { burst, per_second: f64::from(per_second), left: burst, at: Instant::now() }
    }

    /// Takes a token; `false` if there is none.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.left = (self.left + since * self.per_second).min(self.burst);
        let there = self.left >= 1.0;
        if there {
            self.left -= 1.0;
        }
        there
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut bucket = TokenBucket::new(3, 2);
        let start = bucket.at;
        let mut taken = |after_ms: u64| {
            let now = start + Duration::from_millis(after_ms);
            (0..10).filter(|_| bucket.take(now)).count()
        };
        assert_eq!([taken(0), taken(0), taken(1_000), taken(100_000)], [3, 0, 2, 3]);
    }
}
