//! Call log of a script: one entry per call, in order, and the stable ids of the calls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{CallId, ErrorType, Outcome, OutcomeKind, canonical_json};

/// The outcome of a call, in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallStatus {
    Ok,
    Error,
    Denied,
    Timeout,
    /// The call was running when the script ended, or its result is unknown.
    Unknown,
}

impl CallStatus {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Timeout => "timeout",
            Self::Unknown => "unknown",
        }
    }

    pub(super) fn from_outcome(outcome: &Outcome) -> Self {
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
pub(super) struct CallLogEntry {
    pub(super) tool: String,
    /// The first 16 digits of the SHA-256 of its arguments, with sorted keys.
    pub(super) args_digest: String,
    pub(super) status: CallStatus,
    /// Run time of the tool, in milliseconds.
    pub(super) duration_ms: f64,
    /// Its id; `None` if the script was not allowed to make the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<CallId>,
}

/// The entries, and the number of occurrences of each call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CallLog {
    pub(super) lines: Vec<CallLogEntry>,
    times: BTreeMap<String, u32>,
}

impl CallLog {
    /// Adds a call that a script requests; returns its index.
    pub(super) fn add(&mut self, tool: &str, args: &Value) -> usize {
        let mut digest = canonical_json::sha256(args);
        digest.truncate(16);
        self.lines.push(CallLogEntry {
            tool: tool.to_owned(),
            args_digest: digest,
            status: CallStatus::Unknown,
            duration_ms: 0.0,
            call: None,
        });
        self.lines.len() - 1
    }

    /// Assigns the id of an admitted call. The n-th call of a tool with the same arguments always
    /// gets the same id, so a script that runs again makes its calls under the same ids.
    pub(super) fn assign_call_id(&mut self, place: usize, parent: CallId) -> CallId {
        let Some(line) = self.lines.get_mut(place) else { return CallId::fresh() };
        let what = format!("{}\n{}", line.tool, line.args_digest);
        let times = self.times.entry(what.clone()).or_default();
        *times += 1;
        let id = parent.child(&what, *times);
        line.call = Some(id);
        id
    }

    /// Records the outcome of a call.
    pub(super) fn finish(&mut self, place: usize, status: CallStatus, duration_ms: f64) {
        if let Some(line) = self.lines.get_mut(place) {
            line.status = status;
            line.duration_ms = duration_ms;
        }
    }

    /// Returns the number of admitted calls.
    pub(super) fn calls_made(&self) -> u32 {
        let made = self.lines.iter().filter(|line| line.call.is_some()).count();
        u32::try_from(made).unwrap_or(u32::MAX)
    }
}
