//! What a script has called: a line per call, in the order in which they were made, and the ids by which they are found again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{CallId, ErrorType, Outcome, OutcomeKind, canonical};

/// How a call ended, as far as the script's caller is told (SPEC 4.4, ChainCallRecord).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Ok,
    Error,
    Denied,
    Timeout,
    /// It was at work when the script ended, or nobody knows what became of it.
    Unknown,
}

impl Status {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Timeout => "timeout",
            Self::Unknown => "unknown",
        }
    }

    pub(super) fn of(outcome: &Outcome) -> Self {
        match outcome.kind {
            OutcomeKind::Succeeded => Self::Ok,
            OutcomeKind::TimedOut => Self::Timeout,
            OutcomeKind::Denied | OutcomeKind::Expired => Self::Denied,
            OutcomeKind::Unknown => Self::Unknown,
            _ => match outcome.error_type() {
                Some(ErrorType::UnknownOutcome) => Self::Unknown,
                _ => Self::Error,
            },
        }
    }
}

/// One line of the trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) tool: String,
    /// The first 16 digits of the SHA-256 of its arguments, keys sorted.
    pub(super) args_digest: String,
    pub(super) status: Status,
    /// Time that the tool took, in milliseconds.
    pub(super) duration_ms: f64,
    /// Its id; `None` = the script was not allowed to make it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<CallId>,
}

/// The lines, and how often each call was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Book {
    pub(super) lines: Vec<Line>,
    times: BTreeMap<String, u32>,
}

impl Book {
    /// Enters a call that a script wants to make: its place in the trace.
    pub(super) fn enter(&mut self, tool: &str, args: &Value) -> usize {
        let mut digest = canonical::sha256(args);
        digest.truncate(16);
        self.lines.push(Line {
            tool: tool.to_owned(),
            args_digest: digest,
            status: Status::Unknown,
            duration_ms: 0.0,
            call: None,
        });
        self.lines.len() - 1
    }

    /// The id of an entered call that goes through the door. A script that runs again makes its calls under the same ids: the same tool with the
    /// same arguments for the same time is the same call.
    pub(super) fn id(&mut self, place: usize, parent: CallId) -> CallId {
        let Some(line) = self.lines.get_mut(place) else { return CallId::fresh() };
        let what = format!("{}\n{}", line.tool, line.args_digest);
        let times = self.times.entry(what.clone()).or_default();
        *times += 1;
        let id = parent.child(&what, *times);
        line.call = Some(id);
        id
    }

    /// Says how a call ended.
    pub(super) fn ended(&mut self, place: usize, status: Status, duration_ms: f64) {
        if let Some(line) = self.lines.get_mut(place) {
            line.status = status;
            line.duration_ms = duration_ms;
        }
    }

    /// Calls that went through the door.
    pub(super) fn made(&self) -> u32 {
        let made = self.lines.iter().filter(|line| line.call.is_some()).count();
        u32::try_from(made).unwrap_or(u32::MAX)
    }
}
