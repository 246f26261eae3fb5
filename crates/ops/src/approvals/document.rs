//! A question to a person, in the form of replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::display_text::escape_to_line;
use toolcrib_core::{
    ApprovalRequest, Clock as _, DecisionRecord, SystemClock, canonical_json, effective_channel,
};

/// A question with its decision.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Its id.
    pub approval: String,
    /// `pending`, `decided` or `expired`.
    pub state: String,
    /// Hash of all displayed fields: a decision names it, so that it applies to exactly what its
    /// approver saw.
    pub nonce: String,
    /// The call in question.
    pub call: String,
    /// The run that it belongs to.
    pub run: Option<String>,
    /// The agent that asks.
    pub agent: String,
    /// The conversation.
    pub conversation: String,
    /// Subject of the conversation.
    pub topic: String,
    /// The workspace.
    pub workspace: String,
    /// Origin of the call: `model`, `rest`, `mcp`, …
    pub origin: String,
    /// The channel.
    pub channel: String,
    /// The principal that requested the call, if it came over this API.
    pub by: String,
    /// The tool.
    pub tool: String,
    /// The operation that policy names.
    pub operation: String,
    /// `safe`, `high` or `critical`.
    pub risk: String,
    /// The changes that it may make.
    pub effect: String,
    /// Its reach.
    pub reach: Value,
    /// Why a person is asked: because of a rule, the risk, or the text that the run has read.
    pub reasons: Value,
    /// One line that describes what will happen; empty for viewers.
    pub summary: String,
    /// The arguments, with secrets masked; `null` for viewers.
    pub args: Value,
    /// The model's own question with its options, if there is one; answered with `answer` or
    /// `skip`.
    pub question: Option<Value>,
    /// Milliseconds since 1970.
    pub requested_at: i64,
    /// Milliseconds since 1970; `null` = the question does not expire.
    pub expires_at: Option<i64>,
    /// The decision (`decision` with `scope`, `note`, `args` or `text`), its author (`decided_by`)
    /// and time (`decided_at`).
    pub decision: Option<Value>,
}

impl Approval {
    /// Creates the reply; it contains arguments, and texts that may repeat them, only if
    /// `shows_payloads`.
    #[must_use]
    pub fn new(
        request: &ApprovalRequest,
        decided: Option<&DecisionRecord>,
        shows_payloads: bool,
    ) -> Self {
        let sees = shows_payloads;
        let state = match decided {
            Some(record) if record.is_expiry() => "expired",
            Some(_) => "decided",
            None if request.is_expired(SystemClock.now_ms()) => "expired",
            None => "pending",
        };
        let context = &request.context;
        let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            approval: request.id.to_string(),
            state: state.to_owned(),
            nonce: nonce(request),
            call: request.call.to_string(),
            run: request.run.map(|run| run.to_string()),
            agent: context.agent.clone(),
            conversation: context.conversation.clone(),
            topic: if sees { escape_to_line(&context.topic) } else { String::new() },
            workspace: context.workspace.clone(),
            origin: word(json!(request.origin)),
            channel: effective_channel(context, request.origin).to_owned(),
            by: context.device.clone(),
            tool: request.tool.to_string(),
            operation: request.operation.clone(),
            risk: word(json!(request.risk)),
            effect: word(json!(request.effect)),
            reach: json!(request.reach),
            reasons: reasons(request, sees),
            // A question that an earlier version stored has not been escaped.
            summary: if sees { escape_to_line(&request.summary) } else { String::new() },
            args: if sees { request.args.clone() } else { Value::Null },
            question: request.question.as_ref().filter(|_| sees).map(|question| json!(question)),
            requested_at: request.requested_at,
            expires_at: request.expires_at,
            decision: decided.map(|record| decision(record, shows_payloads)),
        }
    }
}

/// Returns the hash of all displayed fields of a question: it never changes while the question
/// waits.
#[must_use]
pub fn nonce(request: &ApprovalRequest) -> String {
    canonical_json::sha256(&serde_json::to_value(request).unwrap_or_default())
}

/// Returns the reasons for asking. The text may repeat arguments, so a viewer sees only the kinds.
fn reasons(request: &ApprovalRequest, sees: bool) -> Value {
    let kinds = || request.reasons.iter().map(|reason| json!({"kind": reason.kind}));
    if sees { json!(request.reasons) } else { kinds().collect() }
}

/// Returns the decision; without its texts and arguments unless `shows_payloads`.
#[must_use]
pub fn decision(record: &DecisionRecord, shows_payloads: bool) -> Value {
    const OPEN: [&str; 3] = ["decision", "scope", "taint"];
    let mut value = json!(record.decision);
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| shows_payloads || OPEN.contains(&name.as_str()));
        members.insert("decided_by".to_owned(), json!(record.decided_by));
        members.insert("decided_at".to_owned(), json!(record.decided_at));
    }
    value
}
