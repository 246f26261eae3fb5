//! Limit 3: the number of requests that a client may send per minute, and the headers that report
//! it (`X-RateLimit-Limit`, `-Remaining`, `-Reset`).

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use governor::clock::{Clock as _, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

/// Requests between two sweeps that remove clients without recent requests.
const SWEEP_INTERVAL: u32 = 4_096;

type Limiter =
    RateLimiter<String, HashMapStateStore<String>, DefaultClock, StateInformationMiddleware>;

/// The rate limits of all clients.
pub(crate) struct ClientRateLimits {
    /// `None` if there is no limit.
    limiter: Option<(NonZeroU32, Limiter)>,
    clock: DefaultClock,
    requests: AtomicU32,
}

/// The remaining part of a client's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateLimitStatus {
    limit: u32,
    remaining: u32,
    /// Seconds until the whole limit is available again.
    reset: u64,
}

/// A client has used up its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {} requests in a minute", .status.limit)]
pub(crate) struct RateLimited {
    /// The status, for the headers.
    pub(crate) status: RateLimitStatus,
    /// Seconds after which a request is accepted again, at least 1.
    pub(crate) retry_after: u64,
}

impl ClientRateLimits {
    /// Creates limits of this many requests of one client per minute; 0 means no limit.
    pub(crate) fn per_minute(requests: u32) -> Self {
        let limiter = NonZeroU32::new(requests).map(|limit| {
            let quota = Quota::per_minute(limit);
            (limit, RateLimiter::hashmap(quota).with_middleware::<StateInformationMiddleware>())
        });
        Self { limiter, clock: DefaultClock::default(), requests: AtomicU32::new(0) }
    }

    /// Counts a request of this client. Returns `None` if there is no limit.
    ///
    /// # Errors
    /// [`RateLimited`] if the limit is used up.
    pub(crate) fn count(&self, client: &str) -> Result<Option<RateLimitStatus>, RateLimited> {
        let Some((limit, limiter)) = &self.limiter else { return Ok(None) };
        if self.requests.fetch_add(1, Ordering::Relaxed) % SWEEP_INTERVAL == SWEEP_INTERVAL - 1 {
            limiter.retain_recent();
        }
        match limiter.check_key(&client.to_owned()) {
            Ok(state) => Ok(Some(RateLimitStatus::of(*limit, state.remaining_burst_capacity()))),
            Err(not_until) => {
                let wait = not_until.wait_time_from(self.clock.now());
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                let status = RateLimitStatus::of(*limit, 0);
                Err(RateLimited { status, retry_after: seconds.max(1) })
            }
        }
    }
}

impl ClientRateLimits {
    /// Counts this many more requests for one that was already answered, as far as the limit
    /// allows, so that the next request is refused.
    pub(crate) fn charge(&self, client: &str, more: usize) {
        for _ in 0..more {
            if self.count(client).is_err() {
                return;
            }
        }
    }
}

impl RateLimitStatus {
    fn of(limit: NonZeroU32, remaining: u32) -> Self {
        let used = u64::from(limit.get().saturating_sub(remaining));
        let reset = (used * 60).div_ceil(u64::from(limit.get()));
        Self { limit: limit.get(), remaining, reset }
    }

    /// Sets the headers of a response.
    pub(crate) fn write_headers(self, headers: &mut HeaderMap) {
        let values = [
            ("x-ratelimit-limit", u64::from(self.limit)),
            ("x-ratelimit-remaining", u64::from(self.remaining)),
            ("x-ratelimit-reset", self.reset),
        ];
        for (name, value) in values {
            headers.insert(HeaderName::from_static(name), HeaderValue::from(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_sees_what_is_left_and_others_are_not_affected() {
        let rates = ClientRateLimits::per_minute(3);
        for remaining in [2, 1, 0] {
            let status = rates.count("a").unwrap().unwrap();
            assert_eq!((status.limit, status.remaining), (3, remaining));
            assert!((1..=60).contains(&status.reset), "{status:?}");
        }
        let refused = rates.count("a").unwrap_err();
        assert_eq!((refused.status.limit, refused.status.remaining), (3, 0));
        assert!((1..=20).contains(&refused.retry_after), "{refused:?}");
        assert_eq!(rates.count("b").unwrap().unwrap().remaining, 2);
        rates.charge("b", 1);
        assert_eq!(rates.count("b").unwrap().unwrap().remaining, 0);
        rates.charge("c", 50);
        assert!(rates.count("c").is_err());
        assert_eq!(ClientRateLimits::per_minute(0).count("a").unwrap(), None);
    }
}
