//! Asking a person about one call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BoxFuture;
use crate::call::{Context, Origin};
use crate::canonical;
use crate::grant::GrantScope;
use crate::id::{ApprovalId, CallId, RunId};
use crate::name::ToolName;
use crate::rule::RuleRef;
use crate::spec::{Effect, Reach, Risk};

/// Which part of policy asks. A grant answers only the reasons it was given for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// A permission of the host is undecided.
    Permission,
    /// A rule says ask.
    Rule,
    /// The run has read untrusted text.
    Taint,
    /// The preset asks at this risk.
    Risk,
    /// The call would reach hosts that are not allowed.
    Host,
}

/// One reason to ask, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskReason {
    /// Which part of policy asks.
    pub kind: ReasonKind,
    /// Why.
    pub text: String,
    /// The rule, when one asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
}

/// The question: immutable, stored before it is shown (seed 003).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Its id.
    pub id: ApprovalId,
    /// The call in question.
    pub call: CallId,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The tool.
    pub tool: ToolName,
    /// The operation that policy names.
    pub operation: String,
    /// The final arguments: what is shown is what runs.
    pub args: Value,
    /// Assessed risk.
    pub risk: Risk,
    /// Assessed effect.
    pub effect: Effect,
    /// Assessed reach.
    pub reach: Reach,
    /// One line that says what will happen.
    pub summary: String,
    /// Why a person is asked.
    pub reasons: Vec<AskReason>,
    /// Who asks.
    pub origin: Origin,
    /// Whose call it is.
    pub context: Context,
    /// Hash of the tool's definition.
    pub definition_hash: String,
    /// Hash of definition, canonical arguments and run: the decision is good for exactly this.
    pub binding: String,
    /// Milliseconds since 1970.
    pub requested_at: i64,
    /// Milliseconds since 1970; `None` = waits as long as it takes.
    pub expires_at: Option<i64>,
    /// What the model asks, when this is a question of its own (`ask_user`) and not one about whether its call may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<UserQuestion>,
}

/// A question of the model to a person (DESIGN 9, ask_user).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserQuestion {
    /// The question.
    pub question: String,
    /// Why it is asked; empty = not said.
    #[serde(default)]
    pub context: String,
    /// Answers to choose from, none or two to four. Free text and skipping are always possible.
    #[serde(default)]
    pub options: Vec<String>,
}

impl ApprovalRequest {
    /// Whether its time is over.
    #[must_use]
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at.is_some_and(|end| now_ms >= end)
    }

    /// The call that may run or not, by the decision; `None` = it is a question of the model. Asked about once in the life of a call.
    #[must_use]
    pub fn approves(&self) -> Option<CallId> {
        self.question.is_none().then_some(self.call)
    }

    /// What a decision is bound to (DESIGN 5).
    #[must_use]
    pub fn binding_of(definition_hash: &str, args: &Value, run: Option<RunId>) -> String {
        let run = run.map(|r| r.to_string()).unwrap_or_default();
        canonical::sha256_parts(&[definition_hash, &canonical::to_string(args), &run])
    }
}

/// What a person decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Run it; the scope says how long this answer is remembered.
    Approve {
        /// How long it holds.
        scope: GrantScope,
        /// What arguments must look like for the grant to answer, by name: a glob for each (see [`crate::Grant::args`]).
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        only: BTreeMap<String, String>,
        /// Whether the grant answers for what the run has read too. It never does unless this says so (DESIGN 9, Approvals).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        taint: bool,
    },
    /// Do not run it.
    Deny {
        /// Words for the model.
        note: Option<String>,
    },
    /// Run it with these arguments instead; they are validated and assessed again.
    Edit {
        /// The new arguments.
        args: Value,
    },
    /// Do not run it, and let the run go on; a question of the model stays unanswered.
    Skip,
    /// The answer to a question of the model.
    Answer {
        /// One of its options, or free text.
        text: String,
    },
}

impl Decision {
    /// Run it, this once.
    #[must_use]
    pub fn approve() -> Self {
        Self::approve_for(GrantScope::Once)
    }

    /// Run it, and remember that for so long.
    #[must_use]
    pub fn approve_for(scope: GrantScope) -> Self {
        Self::Approve { scope, only: BTreeMap::new(), taint: false }
    }

    /// Whether this decides a question of that kind: the model's own are answered or skipped, the others are decided.
    #[must_use]
    pub fn fits(&self, request: &ApprovalRequest) -> bool {
        match self {
            Self::Skip | Self::Deny { .. } => true,
            Self::Answer { .. } => request.question.is_some(),
            Self::Approve { .. } | Self::Edit { .. } => request.question.is_none(),
        }
    }
}

/// A decision with who made it and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// What was decided.
    pub decision: Decision,
    /// By whom.
    pub decided_by: String,
    /// Milliseconds since 1970, by the clock of whoever stores it.
    pub decided_at: i64,
}

impl DecisionRecord {
    /// Who ends a question that nobody decided in time, as records name it.
    pub const DEADLINE: &str = "deadline";

    /// Nobody decided in time. Stored like any decision, so that a clock that is put back revives nothing.
    #[must_use]
    pub fn expiry(at_ms: i64) -> Self {
        let decided_by = Self::DEADLINE.to_owned();
        Self { decision: Decision::Deny { note: None }, decided_by, decided_at: at_ms }
    }

    /// Whether it says that nobody decided in time.
    #[must_use]
    pub fn is_expiry(&self) -> bool {
        self.decided_by == Self::DEADLINE && matches!(self.decision, Decision::Deny { .. })
    }
}

/// What an approver answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// Decided, by this person.
    Decided {
        /// The decision.
        decision: Decision,
        /// Who decided.
        by: String,
    },
    /// Nobody is here now: the call is suspended and the question stays in the store.
    Later,
    /// Nobody can ever be asked on this surface: the call is denied at once.
    Nobody,
}

/// The right to put one question in front of people; it is given back when dropped.
pub type Turn = Box<dyn Send>;

/// Somebody, or something, that can be asked.
pub trait Approver: Send + Sync {
    /// Waits until one more question can be put in front of people, where only one can be shown at a time. The question is made, and its
    /// deadline runs, from then on; the turn is held until the question is over. `None` = any number at once (the default).
    fn turn(&self) -> BoxFuture<'_, Option<Turn>> {
        Box::pin(std::future::ready(None))
    }

    /// Asks. The engine stops waiting at the request's deadline and drops the future: whoever asks must then have left the screen.
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Asked>;
}
