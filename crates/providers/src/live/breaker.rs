//! The circuit breaker of an endpoint (SPEC 3.1): a provider that fails again and again is left alone for a while.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Failed requests in a row that open it (SPEC 3.1).
pub(super) const FAILURES: u32 = 5;
/// How long it stays open (SPEC 3.1).
pub(super) const OPEN: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Requests pass; so many failed in a row.
    Closed(u32),
    /// None passes before this moment.
    Open(Instant),
    /// The next request passes, as the probe.
    HalfOpen,
    /// The probe is on its way; no other passes.
    Probing,
}

#[derive(Debug)]
pub(super) struct Breaker(Mutex<State>);

impl Default for Breaker {
    fn default() -> Self {
        Self(Mutex::new(State::Closed(0)))
    }
}

impl Breaker {
    /// Lets a request pass, or says how long none will.
    pub(super) fn enter(&self, now: Instant) -> Result<Pass<'_>, Duration> {
        self.with(|state| {
            if let State::Open(until) = *state
                && until <= now
            {
                *state = State::HalfOpen;
            }
            match *state {
                State::Closed(_) => Ok(Pass { breaker: self, probe: false }),
                State::HalfOpen => {
                    *state = State::Probing;
                    Ok(Pass { breaker: self, probe: true })
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

/// One request that passed. Dropped without a verdict (somebody stopped it), it changes nothing; as a probe it gives way to the next one.
pub(super) struct Pass<'a> {
    breaker: &'a Breaker,
    probe: bool,
}

impl Pass<'_> {
    /// Whether it is the one request that finds out if the provider works again.
    pub(super) fn is_probe(&self) -> bool {
        self.probe
    }

    /// The provider answered, be it with a refusal.
    pub(super) fn worked(self) {
        self.breaker.with(|state| *state = State::Closed(0));
    }

    /// The request failed for a reason that lies with the provider or the way to it.
    pub(super) fn failed(self, now: Instant) {
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

impl Drop for Pass<'_> {
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

    fn fail(breaker: &Breaker, now: Instant, times: u32) {
        for _ in 0..times {
            breaker.enter(now).map(|pass| pass.failed(now)).expect("it lets requests pass");
        }
    }

    #[test]
    fn five_failures_in_a_row_open_it_for_thirty_seconds() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        fail(&breaker, now, 4);
        breaker.enter(now).map(Pass::worked).expect("four are not enough");
        fail(&breaker, now, 5);
        assert_eq!(breaker.enter(now).err(), Some(OPEN));
        assert_eq!(
            breaker.enter(now + Duration::from_secs(29)).err(),
            Some(Duration::from_secs(1))
        );
    }

    #[test]
    fn one_probe_decides() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        fail(&breaker, now, 5);
        let later = now + OPEN;
        let probe = breaker.enter(later).expect("the probe");
        assert!(probe.is_probe());
        assert_eq!(breaker.enter(later).err(), Some(Duration::ZERO), "only one");
        probe.failed(later);
        assert_eq!(breaker.enter(later).err(), Some(OPEN));
        let later = later + OPEN;
        breaker.enter(later).map(Pass::worked).expect("the next probe");
        fail(&breaker, later, 4);
        assert!(breaker.enter(later).is_ok(), "the count began anew");
    }

    #[test]
    fn a_probe_that_was_stopped_gives_way() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        fail(&breaker, now, 5);
        drop(breaker.enter(now + OPEN).expect("the probe"));
        assert!(breaker.enter(now + OPEN).expect("the next").is_probe());
    }

    #[test]
    fn late_failures_do_not_lengthen_it() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        let late = breaker.enter(now).expect("closed");
        fail(&breaker, now, 5);
        late.failed(now + Duration::from_secs(20));
        assert!(breaker.enter(now + OPEN).is_ok());
    }
}
