//! Limits of a run: those of the request, else those of the agent, else the defaults.

use std::time::Duration;

use toolcrib_agent::context::Money;
use toolcrib_agent::library::{Agent, Rounds};
use toolcrib_agent::machine::{MAX_ROUNDS, ROUNDS};
use toolcrib_core::RunLimits;

/// Limits requested for one run, on the command line or in the configuration; `None` if unset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunnerLimits {
    /// Maximum number of rounds, 1 to 100.
    pub rounds: Option<u32>,
    /// Maximum number of calls.
    pub calls: Option<u64>,
    /// Maximum number of tokens.
    pub tokens: Option<u64>,
    /// Maximum run time of tools.
    pub time: Option<Duration>,
    /// Maximum estimated cost.
    pub cost: Option<Money>,
}

/// An invalid limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LimitError(String);

impl RunnerLimits {
    /// Validates the limits.
    ///
    /// # Errors
    /// [`LimitError`] for rounds outside 1 to 100, or a limit of 0.
    pub fn check(self) -> Result<Self, LimitError> {
        if self.rounds.is_some_and(|rounds| !(1..=MAX_ROUNDS).contains(&rounds)) {
            return Err(LimitError(format!("rounds must be from 1 to {MAX_ROUNDS}")));
        }
        if self.calls == Some(0) || self.tokens == Some(0) || self.time == Some(Duration::ZERO) {
            return Err(LimitError("a limit of 0 would let nothing run".to_owned()));
        }
        Ok(self)
    }

    /// Returns the rounds before the final request; `None` if unlimited.
    pub(super) fn rounds(&self, agent: &Agent) -> Option<u32> {
        match (self.rounds, agent.limits.rounds) {
            (Some(rounds), _) => Some(rounds),
            (None, Some(Rounds::AtMost(rounds))) => Some(u32::from(rounds)),
            (None, Some(Rounds::Unlimited)) => None,
            (None, None) => Some(ROUNDS),
        }
    }

    pub(super) fn to_run_limits(self, agent: &Agent) -> RunLimits {
        let default = RunLimits::default();
        RunLimits {
            calls: self.calls.or(agent.limits.calls).or(default.calls),
            tokens: self.tokens.or(agent.limits.tokens).or(default.tokens),
            time: self.time.or(agent.limits.time).or(default.time),
        }
    }

    pub(super) fn cost(&self, agent: &Agent) -> Option<Money> {
        // `Money` counts millionths of a dollar.
        self.cost.or_else(|| agent.limits.cost.map(|usd| Money((usd * 1e6).round() as u64)))
    }
}
