//! Replies about decisions of people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{ApprovalRequest, DecisionRecord};

use super::document::decision;

/// The result of a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DecisionResult")]
pub struct DecisionReply {
    /// The question.
    pub approval: String,
    /// The decision, with its author and time.
    pub decision: Value,
    /// The call; its result is looked up by this id.
    pub call: String,
    /// The component that continues: `run`, `call`, `elsewhere` (another process waits) or `none`
    /// (its run has ended).
    #[schemars(with = "String")]
    pub goes_on: ContinuedBy,
    /// Its run.
    pub run: Option<String>,
}

impl DecisionReply {
    /// The reply about a stored decision.
    #[must_use]
    pub fn new(
        request: &ApprovalRequest,
        record: &DecisionRecord,
        goes_on: ContinuedBy,
        shows_payloads: bool,
    ) -> Self {
        Self {
            approval: request.id.to_string(),
            decision: decision(record, shows_payloads),
            call: request.call.to_string(),
            goes_on,
            run: request.run.map(|run| run.to_string()),
        }
    }
}

/// The component that continues a call after the decision about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContinuedBy {
    /// Its run, in this daemon.
    Run,
    /// The daemon runs the call alone.
    Call,
    /// Another process waits for the decision.
    Elsewhere,
    /// No component: its run has ended. A daemon of the release before says `nobody`.
    #[serde(alias = "nobody")]
    None,
}

impl ContinuedBy {
    /// Returns the name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Call => "call",
            Self::Elsewhere => "elsewhere",
            Self::None => "none",
        }
    }
}
