//! Approvals: questions to a person about one call, decisions, and the approver interface.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::BoxFuture;
use crate::call::{Context, Origin};
use crate::canonical_json;
use crate::grant::GrantScope;
use crate::id::{ApprovalId, CallId, RunId};
use crate::rule::RuleRef;
use crate::spec::{Effect, Reach, Risk};
use crate::tool_name::ToolName;

/// Part of policy that asks. A grant answers only the reasons it was given for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// A permission of the host is undecided.
    Permission,
    /// A rule has the verdict `ask`.
    Rule,
    /// The run has read untrusted text.
    Taint,
    /// The preset asks at this risk.
    Risk,
    /// The call would connect to hosts that are not allowed.
    Host,
    /// The call would change a file that another program executes on its own. No grant answers it.
    ExecutedFile,
    /// The call is one that always asks; no grant answers it.
    Floor,
}

impl ReasonKind {
    /// Returns whether no grant answers such a question: it is asked each time.
    #[must_use]
    pub fn always_asks(self) -> bool {
        matches!(self, Self::ExecutedFile | Self::Floor)
    }
}

/// One reason for a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalReason {
    /// The part of policy that asks.
    pub kind: ReasonKind,
    /// Explanation for people.
    pub text: String,
    /// The rule, if a rule asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
}

/// A question to a person. Immutable, and stored before it is shown.
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
    /// The operation that policy evaluates.
    pub operation: String,
    /// The final arguments: the call runs with exactly the shown arguments.
    pub args: Value,
    /// Assessed risk.
    pub risk: Risk,
    /// Assessed effect.
    pub effect: Effect,
    /// Assessed reach.
    pub reach: Reach,
    /// One line that describes what will happen.
    pub summary: String,
    /// The reasons for asking.
    pub reasons: Vec<ApprovalReason>,
    /// Where the call comes from.
    pub origin: Origin,
    /// Owner, agent and the rest of the caller's context.
    pub context: Context,
    /// Hash of the tool's definition.
    pub definition_hash: String,
    /// Hash of definition, canonical arguments and run. A decision is valid for exactly this hash.
    pub binding: String,
    /// When it was asked, Unix time in milliseconds.
    pub requested_at: i64,
    /// Deadline, Unix time in milliseconds; `None` waits without limit.
    pub expires_at: Option<i64>,
    /// The model's question, if this request comes from `ask_user` and is not about whether a call
    /// may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<UserQuestion>,
}

/// A model's question to a person (the tool `ask_user`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserQuestion {
    /// The question.
    pub question: String,
    /// Why the model asks; empty if it did not say.
    #[serde(default)]
    pub context: String,
    /// Suggested answers: none, or two to four. Free text and skipping are always possible.
    #[serde(default)]
    pub options: Vec<String>,
}

impl UserQuestion {
    /// Returns the result of the tool for an answer: every result has a `status`.
    #[must_use]
    pub fn answered(&self, text: &str) -> Value {
        let selected = self.options.iter().position(|option| option == text);
        json!({
            "status": "answered",
            "user_choice": text,
            "was_freeform": selected.is_none(),
            "selected_option": selected.map(|at| at + 1),
        })
    }
}

impl ApprovalRequest {
    /// Returns whether the deadline has passed.
    #[must_use]
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at.is_some_and(|end| now_ms >= end)
    }

    /// Returns the call that the decision allows or denies; `None` for a question of the model.
    /// Each call is asked about once.
    #[must_use]
    pub fn gated_call(&self) -> Option<CallId> {
        self.question.is_none().then_some(self.call)
    }

    /// Returns the hash that a decision is bound to.
    #[must_use]
    pub fn compute_binding(definition_hash: &str, args: &Value, run: Option<RunId>) -> String {
        let run = run.map(|r| r.to_string()).unwrap_or_default();
        canonical_json::sha256_parts(&[definition_hash, &canonical_json::to_string(args), &run])
    }
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Run the call; the scope says how long the approval is remembered.
    Approve {
        /// How long the approval is valid.
        scope: GrantScope,
        /// Limits the grant to arguments of this form, one glob per name (see
        /// [`crate::Grant::args`]).
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        only: BTreeMap<String, String>,
        /// Whether the grant also answers questions about taint. It does not by default, because
        /// labels change with the content that the run reads.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        taint: bool,
    },
    /// Do not run it.
    Deny {
        /// Message for the model.
        note: Option<String>,
    },
    /// Run the call with these arguments instead; they are validated and assessed again.
    Edit {
        /// The new arguments.
        args: Value,
    },
    /// Do not run the call but continue the run; a question of the model stays unanswered.
    Skip,
    /// Answer to a question of the model.
    Answer {
        /// One of the suggested answers, or free text.
        text: String,
    },
}

impl Decision {
    /// Approves this call only.
    #[must_use]
    pub fn approve() -> Self {
        Self::approve_for(GrantScope::Once)
    }

    /// Approves and remembers the approval for this scope.
    #[must_use]
    pub fn approve_for(scope: GrantScope) -> Self {
        Self::Approve { scope, only: BTreeMap::new(), taint: false }
    }

    /// Returns whether the decision fits the request: questions of the model are answered or
    /// skipped, all others are decided.
    #[must_use]
    pub fn matches_kind(&self, request: &ApprovalRequest) -> bool {
        match self {
            Self::Skip | Self::Deny { .. } => true,
            Self::Answer { .. } => request.question.is_some(),
            Self::Approve { .. } | Self::Edit { .. } => request.question.is_none(),
        }
    }
}

/// A decision with its author and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// The decision.
    pub decision: Decision,
    /// Name of the person who decided.
    pub decided_by: String,
    /// Unix time in milliseconds, by the clock of the store.
    pub decided_at: i64,
}

impl DecisionRecord {
    /// Author of the decision that ends an expired question, as named in records.
    pub const DEADLINE: &str = "deadline";

    /// Returns the decision for an expired question. It is stored like any other, so that setting
    /// the clock back does not reopen the question.
    #[must_use]
    pub fn expiry(at_ms: i64) -> Self {
        let decided_by = Self::DEADLINE.to_owned();
        Self { decision: Decision::Deny { note: None }, decided_by, decided_at: at_ms }
    }

    /// Returns whether the question expired without a decision.
    #[must_use]
    pub fn is_expiry(&self) -> bool {
        self.decided_by == Self::DEADLINE && matches!(self.decision, Decision::Deny { .. })
    }
}

/// An approver's reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ApproverReply {
    /// A person decided.
    Decided {
        /// The decision.
        decision: Decision,
        /// Name of the person who decided.
        by: String,
    },
    /// No person is available now: the call is suspended and the question stays in the store.
    Deferred,
    /// This interface can never ask a person: the call is denied at once.
    Unavailable,
}

/// The right to show one question; dropping it releases the right.
pub type PromptPermit = Box<dyn Send>;

/// A component that asks a person.
///
/// A panic counts as [`ApproverReply::Unavailable`]. The approver must show the request unchanged:
/// the call runs with exactly these arguments.
///
/// ```
/// use std::sync::mpsc::Sender;
///
/// use toolcrib_core::{ApprovalRequest, Approver, ApproverReply, BoxFuture};
///
/// /// Tells a person by some other way, and lets the call wait in the store for the decision.
/// struct Later(Sender<String>);
///
/// impl Approver for Later {
///     fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
///         let text = format!("{}: {} {}", request.id, request.summary, request.args);
///         Box::pin(std::future::ready(match self.0.send(text) {
///             Ok(()) => ApproverReply::Deferred,
///             Err(_) => ApproverReply::Unavailable,
///         }))
///     }
/// }
/// ```
pub trait Approver: Send + Sync {
    /// Waits until one more question can be shown, if only one can be shown at a time. The question
    /// is created, and its deadline starts, when this returns; the permit is held until the
    /// question ends. `None` (the default) allows any number at once.
    fn acquire_prompt(&self) -> BoxFuture<'_, Option<PromptPermit>> {
        Box::pin(std::future::ready(None))
    }

    /// Asks a person. At the deadline the engine drops the future; dropping it must remove the
    /// question from the screen.
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply>;
}
