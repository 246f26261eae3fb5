//! The state of a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::OutcomeKind;

/// Status of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It was accepted and has not ended.
    Running,
    /// A person has to decide about it.
    Waiting,
    /// The tool ran and answered.
    Succeeded,
    /// The call failed, in the tool or before it.
    Failed,
    /// Its time ran out.
    TimedOut,
    /// It was stopped.
    Cancelled,
    /// Policy, a switch, a budget or a person denied it.
    Denied,
    /// It was not decided in time.
    Expired,
    /// It was started, and its outcome is unknown.
    Unknown,
}

impl From<OutcomeKind> for CallState {
    fn from(kind: OutcomeKind) -> Self {
        match kind {
            OutcomeKind::Succeeded => Self::Succeeded,
            OutcomeKind::Failed => Self::Failed,
            OutcomeKind::TimedOut => Self::TimedOut,
            OutcomeKind::Cancelled => Self::Cancelled,
            OutcomeKind::Denied => Self::Denied,
            OutcomeKind::Expired => Self::Expired,
            OutcomeKind::Unknown => Self::Unknown,
        }
    }
}
