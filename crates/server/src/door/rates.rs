//! How much one client may ask in a minute, and the headers that tell it (SPEC 5.4: `X-RateLimit-Limit/-Remaining/-Reset`).

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use governor::clock::{Clock as _, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::problem::{Code, Problem};

/// Requests between two looks for clients that have not asked for long.
const SWEPT: u32 = 4_096;

type Limiter =
    RateLimiter<String, HashMapStateStore<String>, DefaultClock, StateInformationMiddleware>;

/// The limits of all clients.
pub(super) struct Rates {
    /// `None` = there is no limit.
    limiter: Option<(NonZeroU32, Limiter)>,
    clock: DefaultClock,
    asked: AtomicU32,
}

/// What a client may still ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    limit: u32,
    remaining: u32,
    /// Seconds until nothing is used up.
    reset: u64,
}

impl Rates {
    /// This many requests of one client in a minute; 0 = any number.
    pub(super) fn per_minute(requests: u32) -> Self {
        let limiter = NonZeroU32::new(requests).map(|limit| {
            let quota = Quota::per_minute(limit);
            (limit, RateLimiter::hashmap(quota).with_middleware::<StateInformationMiddleware>())
        });
        Self { limiter, clock: DefaultClock::default(), asked: AtomicU32::new(0) }
    }

    /// Counts a request of this client.
    ///
    /// # Errors
    /// `rate_limited` when there were too many, with the allowance for its headers.
    pub(super) fn count(&self, client: &str) -> Result<Option<Allowance>, (Problem, Allowance)> {
        let Some((limit, limiter)) = &self.limiter else { return Ok(None) };
        if self.asked.fetch_add(1, Ordering::Relaxed) % SWEPT == SWEPT - 1 {
            limiter.retain_recent();
        }
        match limiter.check_key(&client.to_owned()) {
            Ok(state) => Ok(Some(Allowance::of(*limit, state.remaining_burst_capacity()))),
            Err(not_until) => {
                let wait = not_until.wait_time_from(self.clock.now());
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                let words = format!("more than {limit} requests in a minute");
                let problem = Problem::new(Code::RateLimited, words).retry_after(seconds.max(1));
                Err((problem, Allowance::of(*limit, 0)))
            }
        }
    }
}

impl Allowance {
    fn of(limit: NonZeroU32, remaining: u32) -> Self {
        let used = u64::from(limit.get().saturating_sub(remaining));
        let reset = (used * 60).div_ceil(u64::from(limit.get()));
        Self { limit: limit.get(), remaining, reset }
    }

    /// Writes the headers.
    pub(super) fn tell(self, headers: &mut HeaderMap) {
        let told = [
            ("x-ratelimit-limit", u64::from(self.limit)),
            ("x-ratelimit-remaining", u64::from(self.remaining)),
            ("x-ratelimit-reset", self.reset),
        ];
        for (name, value) in told {
            headers.insert(HeaderName::from_static(name), HeaderValue::from(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_told_what_is_left_and_others_are_not_touched() {
        let rates = Rates::per_minute(3);
        for remaining in [2, 1, 0] {
            let told = rates.count("a").unwrap().unwrap();
            assert_eq!((told.limit, told.remaining), (3, remaining));
            assert!((1..=60).contains(&told.reset), "{told:?}");
        }
        let (problem, told) = rates.count("a").unwrap_err();
        assert_eq!((problem.code, told.remaining), (Code::RateLimited, 0));
        assert!((1..=20).contains(&problem.retry_after.unwrap()), "{problem:?}");
        assert_eq!(rates.count("b").unwrap().unwrap().remaining, 2);
        assert_eq!(Rates::per_minute(0).count("a").unwrap(), None);
    }
}
