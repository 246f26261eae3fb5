//! The ways a call ends.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The seven ways a call ends. Suspension is a state before the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The tool ran and returned a result.
    Succeeded,
    /// The tool, or an earlier stage, failed.
    Failed,
    /// Its timeout expired.
    TimedOut,
    /// It was canceled.
    Cancelled,
    /// Policy, a switch, a budget or a person denied it.
    Denied,
    /// No decision before the deadline.
    Expired,
    /// It was started, and it is unknown whether it finished.
    Unknown,
}

impl OutcomeKind {
    /// Returns the name in files and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for OutcomeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
