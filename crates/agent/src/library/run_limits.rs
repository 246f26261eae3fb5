//! Limits of an agent's runs, as written in its file.
#![deny(clippy::indexing_slicing)]

use std::time::Duration;

use serde::Deserialize;

/// Maximum number of rounds that a file can set.
const MAX_ROUNDS: i64 = 100;

/// Maximum number of requests to the model in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// This many, 1 to 100.
    AtMost(u8),
    /// Unlimited, up to the token or time budget; requires one of these budgets, so that every run
    /// ends.
    Unlimited,
}

/// Limits of a run; `None` for the default of the loop.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Rounds.
    pub rounds: Option<Rounds>,
    /// Tool calls, at least 1.
    pub calls: Option<u64>,
    /// Tokens, at least 1.
    pub tokens: Option<u64>,
    /// Wall time, without waiting for people; above zero.
    pub time: Option<Duration>,
    /// Cost in US dollars by the price table; above 0.
    pub cost: Option<f64>,
}

/// The limits in their file format.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    rounds: Option<RawRounds>,
    calls: Option<u64>,
    tokens: Option<u64>,
    time: Option<RawTime>,
    cost: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "limits.rounds must be a number from 1 to 100, or \"unlimited\"")]
enum RawRounds {
    Number(i64),
    Word(String),
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "limits.time must be seconds, or a text such as \"90s\", \"15m\" or \"1h\""
)]
enum RawTime {
    Seconds(u64),
    Text(String),
}

impl RawLimits {
    /// Validates the limits.
    ///
    /// # Errors
    /// The problem, as a sentence fragment.
    pub(super) fn check(self) -> Result<Limits, String> {
        let limits = Limits {
            rounds: self.rounds.map(rounds).transpose()?,
            calls: at_least_one("calls", self.calls)?,
            tokens: at_least_one("tokens", self.tokens)?,
            time: self.time.map(time).transpose()?,
            cost: self.cost,
        };
        if limits.cost.is_some_and(|cost| !(cost.is_finite() && cost > 0.0)) {
            return Err("limits.cost must be above 0 (US dollars)".to_owned());
        }
        if limits.rounds == Some(Rounds::Unlimited)
            && limits.tokens.is_none()
            && limits.time.is_none()
        {
            return Err(
                "limits.rounds can be \"unlimited\" only together with limits.tokens or limits.time"
                    .to_owned(),
            );
        }
        Ok(limits)
    }
}

fn rounds(raw: RawRounds) -> Result<Rounds, String> {
    match raw {
        RawRounds::Number(n @ 1..=MAX_ROUNDS) => {
            Ok(Rounds::AtMost(u8::try_from(n).unwrap_or(u8::MAX)))
        }
        RawRounds::Word(word) if word == "unlimited" => Ok(Rounds::Unlimited),
        RawRounds::Number(other) => Err(bad_rounds(&other.to_string())),
        RawRounds::Word(other) => {
            Err(bad_rounds(&format!("\"{}\"", super::suggest::quote_name(&other))))
        }
    }
}

fn bad_rounds(given: &str) -> String {
    format!("limits.rounds must be a number from 1 to 100, or \"unlimited\", not {given}")
}

fn at_least_one(key: &str, value: Option<u64>) -> Result<Option<u64>, String> {
    if value == Some(0) {
        return Err(format!("limits.{key} must be at least 1"));
    }
    Ok(value)
}

fn time(raw: RawTime) -> Result<Duration, String> {
    let seconds = match &raw {
        RawTime::Seconds(seconds) => Some(*seconds),
        RawTime::Text(text) => seconds_of(text),
    };
    seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs).ok_or_else(|| {
        "limits.time must be seconds above 0, or a text such as \"90s\", \"15m\" or \"1h\""
            .to_owned()
    })
}

/// Parses `90s`, `15m`, `1h`.
fn seconds_of(text: &str) -> Option<u64> {
    let at = text.len().checked_sub(1)?;
    let (number, unit) = text.split_at_checked(at)?;
    let scale = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}
