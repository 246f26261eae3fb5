//! A call in a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::CallRow;

use super::state::CallState;

/// A call in a list. A token that only looks is not shown arguments and words.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CallSummary {
    /// Its id.
    pub call: String,
    /// Where it stands.
    pub status: CallState,
    /// Canonical name of the tool, when there is one.
    pub tool: Option<String>,
    /// The name as it was asked for, when it is another.
    pub asked: Option<String>,
    /// The operation that policy names.
    pub operation: Option<String>,
    /// Who asked: `model`, `chain`, `mcp`, `rest`, `cli`, `schedule` or `device`.
    pub origin: String,
    /// Agent that called.
    pub agent: Option<String>,
    /// Conversation.
    pub conversation: Option<String>,
    /// What the conversation is about.
    pub topic: Option<String>,
    /// Channel: `chat`, `external-agent` or `background`.
    pub channel: Option<String>,
    /// Workspace folder.
    pub workspace: Option<String>,
    /// Run.
    pub run: Option<String>,
    /// The call that made it, such as a script.
    pub parent: Option<String>,
    /// Milliseconds since 1970.
    pub received_at: i64,
    /// Milliseconds since 1970; absent = it never started.
    pub started_at: Option<i64>,
    /// Milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// Milliseconds that the tool ran.
    pub duration_ms: Option<f64>,
    /// Attempts that were started.
    pub attempts: Option<u32>,
    /// Why it failed.
    pub error_type: Option<String>,
    /// The first words of what went wrong.
    pub message: Option<String>,
    /// `safe`, `high` or `critical`.
    pub risk: Option<String>,
    /// What a crash would mean, such as `side_effect`.
    pub effect: Option<String>,
    /// Arguments, secrets masked; absent too where they are long.
    pub args: Option<Value>,
    /// SHA-256 of the canonical arguments.
    pub args_hash: Option<String>,
    /// SHA-256 of the tool's definition.
    pub definition_hash: Option<String>,
    /// What policy said, in one line.
    pub policy: Option<String>,
    /// The question that was decided about it.
    pub approval: Option<String>,
    /// Who approved.
    pub approved_by: Option<String>,
    /// When its changes were undone, milliseconds since 1970; absent = they were not.
    pub undone_at: Option<i64>,
}

impl CallSummary {
    /// The summary of a stored call, with the time at which its changes were undone.
    #[must_use]
    pub fn new(row: &CallRow, undone_at: Option<i64>) -> Self {
        let (facts, end) = (&row.facts, row.end.as_ref());
        let context = &facts.context;
        Self {
            call: facts.call.to_string(),
            status: end.map_or(CallState::Running, |end| end.outcome.into()),
            tool: facts.tool.as_ref().map(ToString::to_string),
            asked: facts.asked.clone(),
            operation: facts.operation.clone(),
            origin: serialized_name(&facts.origin).unwrap_or_default(),
            agent: some(&context.agent),
            conversation: some(&context.conversation),
            topic: some(&context.topic),
            channel: some(&context.channel),
            workspace: some(&context.workspace),
            run: facts.run.map(|run| run.to_string()),
            parent: facts.parent.map(|call| call.to_string()),
            received_at: facts.received_at,
            started_at: row.started_at,
            ended_at: end.map(|end| end.ended_at),
            duration_ms: end.filter(|end| end.attempts > 0).map(|end| end.run_nanos as f64 / 1e6),
            attempts: end.map(|end| end.attempts),
            error_type: end.and_then(|end| end.error_type).map(|why| why.as_str().to_owned()),
            message: end.and_then(|end| end.message.clone()),
            risk: facts.risk.and_then(|risk| serialized_name(&risk)),
            effect: facts.effect.and_then(|effect| serialized_name(&effect)),
            args: facts.args.as_deref().and_then(|args| serde_json::from_str(args).ok()),
            args_hash: facts.args_hash.clone(),
            definition_hash: facts.definition_hash.clone(),
            policy: facts.policy.clone(),
            approval: facts.approval.map(|id| id.to_string()),
            approved_by: facts.approved_by.clone(),
            undone_at,
        }
    }
}

/// The wire name of something that is one word.
pub fn serialized_name(value: &impl Serialize) -> Option<String> {
    json!(value).as_str().map(str::to_owned)
}

/// Empty text means that there is none.
fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}
