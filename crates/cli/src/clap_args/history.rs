//! `history`, `explain`, `metrics`, `usage`: arguments for reading past calls.

use clap::{Args, ValueEnum};
use jiff::tz::TimeZone;
use toolcrib_core::similar_names;
use toolcrib_core::{CallStatus, OutcomeKind};
use toolcrib_ops::usage::UsageRows;

use crate::time_format;

pub(super) const HISTORY_HELP: &str = "\
Examples:
  toolcrib history --since 2h
  toolcrib history --tool fetch_url --status failed --since 3d
  toolcrib history -n 100 --before call_0123… --json

Times are ages (90m, 2h, 3d), dates (2026-11-21) or ISO 8601 times; times without an offset are local.

Exit codes: 0 also without a match, 2 usage, 4 the tool, agent, conversation or call does not exist.";

pub(super) const EXPLAIN_HELP: &str = "\
Examples:
  toolcrib explain call_019d2f3c
  toolcrib explain run_019d2f3c          # its calls and its state
  toolcrib explain call_019d2f3c --json | jq .outcome.result

A unique prefix of the id is enough.

Exit codes: 0 explained, 2 the id is ambiguous, 4 the call does not exist.";

pub(super) const METRICS_HELP: &str = "\
Example:
  toolcrib metrics --since 1d

The success rate counts only calls that ran, not those that were denied, cancelled or expired. p50 and p95 are durations of the tool, \
without waiting times.";

pub(super) const USAGE_HELP: &str = "\
Examples:
  toolcrib usage
  toolcrib usage --by agent --since 7d --json

Values that no provider reported are `-` (null in JSON): unknown, not zero. Costs are estimated from the table of prices.";

#[derive(Debug, Args)]
pub(crate) struct History {
    /// Only calls of this tool.
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Only calls of this agent.
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Only calls of this conversation; a unique prefix of the id is enough.
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    /// Only calls of this run; a unique prefix of the id is enough.
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// Only calls with this status: open (started, no outcome yet), succeeded, failed, timed_out,
    /// cancelled, denied, expired or unknown.
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    pub(crate) status: Option<CallStatus>,
    /// Only calls received at or after this time.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time)]
    pub(crate) since: Option<i64>,
    /// Only calls received before this time.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time)]
    pub(crate) until: Option<i64>,
    /// Maximum number to list, newest first.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) limit: u16,
    /// Only calls older than this one: the next page.
    #[arg(long, value_name = "CALL")]
    pub(crate) before: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Id of the call (`call_…`) or run (`run_…`), as `toolcrib history` lists it; a unique prefix
    /// is enough.
    pub(crate) call: String,
}

#[derive(Debug, Args)]
pub(crate) struct Metrics {
    /// Only calls received at or after this time.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time)]
    pub(crate) since: Option<i64>,
    /// Only this tool.
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Usage {
    /// What to group by.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = UsageGrouping::Model)]
    pub(crate) by: UsageGrouping,
    /// Only usage at or after this time.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_time)]
    pub(crate) since: Option<i64>,
}

/// What usage is grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UsageGrouping {
    /// Calls and durations of each tool.
    Tool,
    /// Tokens and costs of each agent, and the calls of its tools.
    Agent,
    /// Tokens and costs of each model.
    Model,
    /// Tokens, money and calls of each day of your time zone.
    Day,
}

impl From<UsageGrouping> for UsageRows {
    fn from(by: UsageGrouping) -> Self {
        match by {
            UsageGrouping::Tool => Self::Tool,
            UsageGrouping::Agent => Self::Agent,
            UsageGrouping::Model => Self::Model,
            UsageGrouping::Day => Self::Day(TimeZone::system()),
        }
    }
}

/// The statuses of a call, with their wire names.
const STATUS_NAMES: [(&str, CallStatus); 8] = [
    ("open", CallStatus::Open),
    ("succeeded", CallStatus::Ended(OutcomeKind::Succeeded)),
    ("failed", CallStatus::Ended(OutcomeKind::Failed)),
    ("timed_out", CallStatus::Ended(OutcomeKind::TimedOut)),
    ("cancelled", CallStatus::Ended(OutcomeKind::Cancelled)),
    ("denied", CallStatus::Ended(OutcomeKind::Denied)),
    ("expired", CallStatus::Ended(OutcomeKind::Expired)),
    ("unknown", CallStatus::Ended(OutcomeKind::Unknown)),
];

fn parse_status(text: &str) -> Result<CallStatus, String> {
    let wanted = text.trim().to_lowercase().replace('-', "_");
    if let Some((_, status)) = STATUS_NAMES.iter().find(|(name, _)| *name == wanted) {
        return Ok(*status);
    }
    let names = || STATUS_NAMES.iter().map(|(name, _)| *name);
    Err(match similar_names::similar_names(&wanted, names()).first() {
        Some(name) => format!("there is no status `{text}`; did you mean {name}?"),
        None => format!(
            "there is no status `{text}`; there are {}",
            names().collect::<Vec<_>>().join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_by_name() {
        for kind in ["open", "succeeded", "timed_out", "timed-out", " Unknown "] {
            assert!(parse_status(kind).is_ok(), "{kind}");
        }
        for (_, state) in STATUS_NAMES {
            if let CallStatus::Ended(kind) = state {
                assert_eq!(parse_status(kind.as_str()), Ok(state));
            }
        }
        for (wrong, says) in
            [("suceeded", "did you mean succeeded?"), ("xyz", "there are open, succeeded")]
        {
            let error = parse_status(wrong).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
