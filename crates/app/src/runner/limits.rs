//! What a run may use: what was said for this run, then what the agent's file says, then the defaults.

use std::time::Duration;

use toolcrib_agent::context::Money;
use toolcrib_agent::library::{Agent, Rounds};
use toolcrib_agent::machine::{MOST_ROUNDS, ROUNDS};
use toolcrib_core::RunLimits;

/// Limits that were said for one run, on a command line or in the configuration; `None` = nothing was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunnerLimits {
    /// Rounds, 1 to 100.
    pub rounds: Option<u32>,
    /// Calls.
    pub calls: Option<u64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Time that tools run.
    pub time: Option<Duration>,
    /// Money, by estimate.
    pub cost: Option<Money>,
}

/// A limit that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LimitError(String);

impl RunnerLimits {
    /// Checks them.
    ///
    /// # Errors
    /// [`LimitError`] for rounds outside 1 to 100, or a limit of nothing.
    pub fn check(self) -> Result<Self, LimitError> {
        if self.rounds.is_some_and(|rounds| !(1..=MOST_ROUNDS).contains(&rounds)) {
            return Err(LimitError(format!("rounds must be from 1 to {MOST_ROUNDS}")));
        }
        if self.calls == Some(0) || self.tokens == Some(0) || self.time == Some(Duration::ZERO) {
            return Err(LimitError("a limit of 0 would let nothing run".to_owned()));
        }
        Ok(self)
    }

    /// Rounds before the last request; `None` = unlimited.
    pub(super) fn rounds(&self, agent: &Agent) -> Option<u32> {
        match (self.rounds, agent.limits.rounds) {
            (Some(rounds), _) => Some(rounds),
            (None, Some(Rounds::AtMost(rounds))) => Some(u32::from(rounds)),
            (None, Some(Rounds::Unlimited)) => None,
            (None, None) => Some(ROUNDS),
        }
    }

    pub(super) fn of_run(&self, agent: &Agent) -> RunLimits {
        let default = RunLimits::default();
        RunLimits {
            calls: self.calls.or(agent.limits.calls).or(default.calls),
            tokens: self.tokens.or(agent.limits.tokens).or(default.tokens),
            time: self.time.or(agent.limits.time).or(default.time),
        }
    }

    pub(super) fn cost(&self, agent: &Agent) -> Option<Money> {
        // Money is counted in millionths of a dollar.
        self.cost.or_else(|| agent.limits.cost.map(|usd| Money((usd * 1e6).round() as u64)))
    }
}
