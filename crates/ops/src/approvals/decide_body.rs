//! A decision in the format of the REST API.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::{Decision, GrantScope};

use crate::error::OpError;

/// A decision.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideBody {
    /// The decision: `approve` and `edit` let a call run, `deny` and `skip` do not, `answer` and
    /// `skip` are for questions of a model.
    pub decision: DecisionKind,
    /// The `nonce` of the question that the person saw.
    pub nonce: String,
    /// For `approve`: how long the approval is remembered: `once` (the default), `run`,
    /// `conversation` or `always`.
    #[serde(default)]
    pub scope: Option<GrantScopeName>,
    /// For `approve` that is remembered: the arguments to which it applies, by name, a glob for
    /// each.
    #[serde(default)]
    pub only: BTreeMap<String, String>,
    /// For `approve` that is remembered: whether it also applies to runs that have read untrusted
    /// text.
    #[serde(default)]
    pub taint: bool,
    /// For `deny`: a note for the model.
    #[serde(default)]
    pub note: Option<String>,
    /// For `edit`: the arguments to run with. `***` keeps the masked value, if the principal may
    /// read secrets (an owner without a limit to tools) or changes nothing else.
    #[serde(default)]
    pub args: Option<Value>,
    /// For `answer`: one of the options, or another text.
    #[serde(default)]
    pub text: Option<String>,
}

/// The possible decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Kind")]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// Run it.
    Approve,
    /// Do not run it.
    Deny,
    /// Run it with these arguments.
    Edit,
    /// Do not run the call; the run continues.
    Skip,
    /// The answer to a question.
    Answer,
}

impl DecisionKind {
    /// Returns whether this decision lets a call run.
    #[must_use]
    pub fn may_run(self) -> bool {
        matches!(self, Self::Approve | Self::Edit)
    }
}

/// Whether a call runs by this decision.
#[must_use]
pub fn may_run(decision: &Decision) -> bool {
    matches!(decision, Decision::Approve { .. } | Decision::Edit { .. })
}

/// For how long an approval is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantScopeName {
    /// For this call.
    Once,
    /// For the rest of the run.
    Run,
    /// For the rest of the conversation.
    Conversation,
    /// From now on.
    Always,
}

impl GrantScopeName {
    /// Returns the scope of the grant.
    #[must_use]
    pub fn of_grant(self) -> GrantScope {
        match self {
            Self::Once => GrantScope::Once,
            Self::Run => GrantScope::Run,
            Self::Conversation => GrantScope::Conversation,
            Self::Always => GrantScope::Always,
        }
    }
}

impl From<GrantScope> for GrantScopeName {
    fn from(scope: GrantScope) -> Self {
        match scope {
            GrantScope::Once => Self::Once,
            GrantScope::Run => Self::Run,
            GrantScope::Conversation => Self::Conversation,
            GrantScope::Always => Self::Always,
        }
    }
}

impl DecideBody {
    /// Creates the body of this decision about the question with this nonce.
    #[must_use]
    pub fn new(decision: Decision, nonce: String) -> Self {
        let mut body = Self {
            decision: DecisionKind::Skip,
            nonce,
            scope: None,
            only: BTreeMap::new(),
            taint: false,
            note: None,
            args: None,
            text: None,
        };
        body.decision = match decision {
            Decision::Approve { scope, only, taint } => {
                body = Self { scope: Some(scope.into()), only, taint, ..body };
                DecisionKind::Approve
            }
            Decision::Deny { note } => {
                body.note = note;
                DecisionKind::Deny
            }
            Decision::Edit { args } => {
                body.args = Some(args);
                DecisionKind::Edit
            }
            Decision::Skip => DecisionKind::Skip,
            Decision::Answer { text } => {
                body.text = Some(text);
                DecisionKind::Answer
            }
        };
        body
    }

    /// Returns the decision. Fields that do not belong to it are an error.
    ///
    /// # Errors
    /// [`OpError::Invalid`].
    pub fn decision(&self) -> Result<Decision, OpError> {
        let given = [
            ("scope", self.scope.is_some(), DecisionKind::Approve),
            ("only", !self.only.is_empty(), DecisionKind::Approve),
            ("taint", self.taint, DecisionKind::Approve),
            ("note", self.note.is_some(), DecisionKind::Deny),
            ("args", self.args.is_some(), DecisionKind::Edit),
            ("text", self.text.is_some(), DecisionKind::Answer),
        ];
        let word = |kind: DecisionKind| json!(kind).as_str().unwrap_or_default().to_owned();
        if let Some((name, _, of)) = given.iter().find(|(_, is, of)| *is && *of != self.decision) {
            let (of, mine) = (word(*of), word(self.decision));
            return Err(OpError::Invalid(format!("{name} belongs to {of}, not to {mine}")));
        }
        let missing =
            |name: &str| OpError::Invalid(format!("{} needs {name}", word(self.decision)));
        Ok(match self.decision {
            DecisionKind::Approve => Decision::Approve {
                scope: self.scope.unwrap_or(GrantScopeName::Once).of_grant(),
                only: self.only.clone(),
                taint: self.taint,
            },
            DecisionKind::Deny => Decision::Deny { note: self.note.clone() },
            DecisionKind::Edit => {
                Decision::Edit { args: self.args.clone().ok_or_else(|| missing("args"))? }
            }
            DecisionKind::Skip => Decision::Skip,
            DecisionKind::Answer => {
                Decision::Answer { text: self.text.clone().ok_or_else(|| missing("text"))? }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_survives_the_way_through_a_daemon() {
        let only = BTreeMap::from([("path".to_owned(), "src/*".to_owned())]);
        for decision in [
            Decision::approve(),
            Decision::Approve { scope: GrantScope::Always, only, taint: true },
            Decision::Skip,
            Decision::Deny { note: None },
            Decision::Deny { note: Some("no".to_owned()) },
            Decision::Edit { args: json!({"a": 1}) },
            Decision::Answer { text: "red".to_owned() },
        ] {
            let sent = serde_json::to_string(&DecideBody::new(decision.clone(), "n".to_owned()));
            let read: DecideBody = serde_json::from_str(&sent.unwrap()).unwrap();
            assert_eq!((read.nonce.as_str(), read.decision().unwrap()), ("n", decision));
        }
    }
}
