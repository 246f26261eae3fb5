//! Limit 4: failed logins per network. Each answer beyond the limit is delayed longer than the one
//! before. Requests with a valid token are never delayed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::network_prefix::network_prefix;

/// Time without a failure after which the count starts again.
const WINDOW: Duration = Duration::from_secs(60);
/// Delay of the first answer beyond the limit; each further one is delayed twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest delay of an answer: beyond it, holding the connection open costs the daemon more
/// than the attacker.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// The largest value of `Retry-After` in seconds.
const MAX_RETRY_AFTER: u64 = 60;
/// Maximum number of counted networks.
const MAX_NETWORKS: usize = 10_000;

/// The consequence of a failed login beyond the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Penalty {
    /// Delay of the answer.
    pub(crate) pause: Duration,
    /// Value of `Retry-After` in seconds.
    pub(crate) retry_after: u64,
}

/// Failed logins by network; the key `None` is the unix socket.
pub(crate) struct LoginThrottle {
    allowed: u32,
    tallies: Mutex<HashMap<Option<IpAddr>, Tally>>,
}

struct Tally {
    count: u32,
    last: Instant,
}

impl LoginThrottle {
    /// Creates a throttle that allows this many failures per minute without a consequence.
    pub(super) fn with_limit(allowed: u32) -> Self {
        Self { allowed, tallies: Mutex::default() }
    }

    /// Counts a failed login; returns a penalty beyond the limit.
    pub(crate) fn record_failure(&self, address: Option<IpAddr>) -> Option<Penalty> {
        self.record_failure_at(address, Instant::now())
    }

    fn record_failure_at(&self, address: Option<IpAddr>, now: Instant) -> Option<Penalty> {
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |tally: &Tally| now.saturating_duration_since(tally.last) >= WINDOW;
        if tallies.len() >= MAX_NETWORKS {
            tallies.retain(|_, tally| !is_over(tally));
        }
        if tallies.len() >= MAX_NETWORKS {
            // This many networks at once are one distributed attack. Forgetting all of them bounds
            // the memory; each starts again at zero.
            tallies.clear();
        }
        let key = address.map(network_prefix);
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
    let pause = FIRST_PAUSE.saturating_mul(1 << doublings).min(MAX_PAUSE);
    Some(Penalty { pause, retry_after: (1 << doublings).min(MAX_RETRY_AFTER) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_further_failure_is_delayed_twice_as_long_until_a_minute_without_one() {
        let failures = LoginThrottle::with_limit(3);
        let (begin, address) = (Instant::now(), Some(IpAddr::from([10, 0, 0, 1])));
        let penalties: Vec<Option<u64>> = (0..12)
            .map(|n| failures.record_failure_at(address, begin + Duration::from_secs(n)))
            .map(|penalty| penalty.map(|penalty| penalty.retry_after))
            .collect();
        let waits = [1, 2, 4, 8, 16, 32, 60, 60, 60].map(Some);
        assert_eq!(penalties[..3], [None; 3]);
        assert_eq!(penalties[3..], waits);
        assert_eq!(failures.record_failure_at(Some(IpAddr::from([10, 0, 0, 2])), begin), None);
        assert_eq!(failures.record_failure_at(None, begin), None);
        assert_eq!(failures.record_failure_at(address, begin + Duration::from_secs(72)), None);
        let worst = penalty(u32::MAX).unwrap();
        assert_eq!((worst.pause, worst.retry_after), (MAX_PAUSE, MAX_RETRY_AFTER));
    }

    #[test]
    fn the_number_of_networks_is_bounded() {
        let failures = LoginThrottle::with_limit(0);
        for n in 0..25_000_u32 {
            failures.record_failure(Some(IpAddr::from(n.to_be_bytes())));
        }
        assert!(failures.tallies.lock().unwrap().len() <= MAX_NETWORKS);
    }
}
