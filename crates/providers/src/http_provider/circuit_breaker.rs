//! Circuit breaker of an endpoint: stops requests to a provider that keeps failing.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Consecutive failures that open it.
pub(super) const FAILURES: u32 = 5;
/// How long it stays open.
pub(super) const OPEN: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Requests pass; contains the number of consecutive failures.
    Closed(u32),
    /// No request passes before this moment.
    Open(Instant),
    /// The next request passes, as the probe.
    HalfOpen,
    /// The probe is running; no other request passes.
    Probing,
}

#[derive(Debug)]
pub(super) struct CircuitBreaker(Mutex<State>);

impl Default for CircuitBreaker {
    fn default() -> Self {
        Self(Mutex::new(State::Closed(0)))
    }
}

impl CircuitBreaker {
    /// Lets a request pass, or returns the time until the next one can.
    pub(super) fn acquire(&self, now: Instant) -> Result<BreakerPermit<'_>, Duration> {
        self.with(|state| {
            if let State::Open(until) = *state
                && until <= now
            {
                *state = State::HalfOpen;
            }
            match *state {
                State::Closed(_) => Ok(BreakerPermit { breaker: self, probe: false }),
                State::HalfOpen => {
                    *state = State::Probing;
                    Ok(BreakerPermit { breaker: self, probe: true })
                }
                State::Open(until) => Err(until.saturating_duration_since(now)),
                State::Probing => Err(Duration::ZERO),
            }
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Permit of one request. Dropped without a result (the request was cancelled), it changes nothing;
/// if it was the probe, the next request becomes the probe.
pub(super) struct BreakerPermit<'a> {
    breaker: &'a CircuitBreaker,
    probe: bool,
}

impl BreakerPermit<'_> {
    /// Returns whether this request is the probe.
    pub(super) fn is_probe(&self) -> bool {
        self.probe
    }

    /// Records that the provider answered, even if it refused the request.
    pub(super) fn record_success(self) {
        self.breaker.with(|state| *state = State::Closed(0));
    }

    /// Records that the provider or the connection failed.
    pub(super) fn record_failure(self, now: Instant) {
        self.breaker.with(|state| {
            *state = match *state {
                State::Closed(failures) if failures + 1 < FAILURES => State::Closed(failures + 1),
                State::Closed(_) => State::Open(now + OPEN),
                State::Probing if self.probe => State::Open(now + OPEN),
                other => other,
            };
        });
    }
}

impl Drop for BreakerPermit<'_> {
    fn drop(&mut self) {
        self.breaker.with(|state| {
            if self.probe && *state == State::Probing {
                *state = State::HalfOpen;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(breaker: &CircuitBreaker, now: Instant, times: u32) {
        for _ in 0..times {
            breaker
                .acquire(now)
                .map(|pass| pass.record_failure(now))
                .expect("it lets requests pass");
        }
    }

    #[test]
    fn five_failures_in_a_row_open_it_for_thirty_seconds() {
        let (breaker, now) = (CircuitBreaker::default(), Instant::now());
        fail(&breaker, now, 4);
        breaker.acquire(now).map(BreakerPermit::record_success).expect("four are not enough");
        fail(&breaker, now, 5);
        assert_eq!(breaker.acquire(now).err(), Some(OPEN));
        assert_eq!(
            breaker.acquire(now + Duration::from_secs(29)).err(),
            Some(Duration::from_secs(1))
        );
    }

    #[test]
    fn one_probe_decides() {
        let (breaker, now) = (CircuitBreaker::default(), Instant::now());
        fail(&breaker, now, 5);
        let later = now + OPEN;
        let probe = breaker.acquire(later).expect("the probe");
        assert!(probe.is_probe());
        assert_eq!(breaker.acquire(later).err(), Some(Duration::ZERO), "only one");
        probe.record_failure(later);
        assert_eq!(breaker.acquire(later).err(), Some(OPEN));
        let later = later + OPEN;
        breaker.acquire(later).map(BreakerPermit::record_success).expect("the next probe");
        fail(&breaker, later, 4);
        assert!(breaker.acquire(later).is_ok(), "the count began anew");
    }

    #[test]
    fn a_probe_that_was_stopped_gives_way() {
        let (breaker, now) = (CircuitBreaker::default(), Instant::now());
        fail(&breaker, now, 5);
        drop(breaker.acquire(now + OPEN).expect("the probe"));
        assert!(breaker.acquire(now + OPEN).expect("the next").is_probe());
    }

    #[test]
    fn late_failures_do_not_lengthen_it() {
        let (breaker, now) = (CircuitBreaker::default(), Instant::now());
        let late = breaker.acquire(now).expect("closed");
        fail(&breaker, now, 5);
        late.record_failure(now + Duration::from_secs(20));
        assert!(breaker.acquire(now + OPEN).is_ok());
    }
}
