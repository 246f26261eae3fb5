//! Tries with tokens that do not hold, by address: they are slowed down, more with each one. Tokens that hold are never asked to wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::forwarded::neighbourhood;

/// The time that tries are counted over.
const WINDOW: Duration = Duration::from_secs(60);
/// What the first try too many waits for its answer; each further one waits twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest that an answer is held back: a connection costs us more than it costs them.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The longest that is asked for in `Retry-After`.
const LONGEST_RETRY: u64 = 60;
/// Addresses that are remembered.
const KEPT: usize = 10_000;

/// What a try too many costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Penalty {
    /// How long its answer is held back.
    pub(super) pause: Duration,
    /// Seconds after which another try is welcome.
    pub(super) retry_after: u64,
}

/// Failed tries by address; `None` is the socket.
pub(super) struct Failures {
    allowed: u32,
    tallies: Mutex<HashMap<Option<IpAddr>, Tally>>,
}

struct Tally {
    count: u32,
    last: Instant,
}

impl Failures {
    /// This many are free in a minute.
    pub(super) fn allowing(allowed: u32) -> Self {
        Self { allowed, tallies: Mutex::default() }
    }

    /// Counts one.
    pub(super) fn count(&self, address: Option<IpAddr>) -> Option<Penalty> {
        self.count_at(address, Instant::now())
    }

    fn count_at(&self, address: Option<IpAddr>, now: Instant) -> Option<Penalty> {
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |tally: &Tally| now.saturating_duration_since(tally.last) >= WINDOW;
        if tallies.len() >= KEPT {
            tallies.retain(|_, tally| !is_over(tally));
        }
        if tallies.len() >= KEPT {
            // So many at once are one attack from everywhere; whom it forgets begins anew.
            tallies.clear();
        }
        let key = address.map(neighbourhood);
        let tally = tallies.entry(key).or_insert(Tally { count: 0, last: now });
        if is_over(tally) {
            tally.count = 0;
        }
        tally.last = now;
        tally.count = tally.count.saturating_add(1);
        penalty(tally.count.checked_sub(self.allowed).filter(|over| *over > 0)?)
    }
}

fn penalty(over: u32) -> Option<Penalty> {
    let doublings = over.saturating_sub(1).min(16);
    let pause = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
    Some(Penalty { pause, retry_after: (1 << doublings).min(LONGEST_RETRY) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_try_too_many_waits_twice_as_long_and_a_minute_of_rest_forgives() {
        let failures = Failures::allowing(3);
        let (begin, address) = (Instant::now(), Some(IpAddr::from([10, 0, 0, 1])));
        let tries: Vec<Option<u64>> = (0..12)
            .map(|n| failures.count_at(address, begin + Duration::from_secs(n)))
            .map(|penalty| penalty.map(|penalty| penalty.retry_after))
            .collect();
        let waits = [1, 2, 4, 8, 16, 32, 60, 60, 60].map(Some);
        assert_eq!(tries[..3], [None; 3]);
        assert_eq!(tries[3..], waits);
        assert_eq!(failures.count_at(Some(IpAddr::from([10, 0, 0, 2])), begin), None);
        assert_eq!(failures.count_at(None, begin), None);
        assert_eq!(failures.count_at(address, begin + Duration::from_secs(72)), None);
        let worst = penalty(u32::MAX).unwrap();
        assert_eq!((worst.pause, worst.retry_after), (LONGEST_PAUSE, LONGEST_RETRY));
    }

    #[test]
    fn any_number_of_addresses_is_bounded() {
        let failures = Failures::allowing(0);
        for n in 0..25_000_u32 {
            failures.count(Some(IpAddr::from(n.to_be_bytes())));
        }
        assert!(failures.tallies.lock().unwrap().len() <= KEPT);
    }
}
