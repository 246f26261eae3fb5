//! A call in a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::CallRow;

use super::state::CallState;

/// A call in a list. Viewers do not see arguments and texts.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CallSummary {
    /// Its id.
    pub call: String,
    /// Its status.
    pub status: CallState,
    /// Canonical name of the tool, if the tool exists.
    pub tool: Option<String>,
    /// The requested name, if it differs.
    pub asked: Option<String>,
    /// The operation that policy names.
    pub operation: Option<String>,
    /// Origin: `model`, `chain`, `mcp`, `rest`, `cli`, `schedule` or `device`.
    pub origin: String,
    /// Agent that made the call.
    pub agent: Option<String>,
    /// Conversation.
    pub conversation: Option<String>,
    /// Subject of the conversation.
    pub topic: Option<String>,
    /// Channel: `chat`, `message`, `external-agent` or `background`.
    pub channel: Option<String>,
    /// Workspace folder.
    pub workspace: Option<String>,
    /// The principal that requested it, if it came over the API.
    #[serde(default)]
    pub device: Option<String>,
    /// Run.
    pub run: Option<String>,
    /// The call that made it, such as that of a script.
    pub parent: Option<String>,
    /// Milliseconds since 1970.
    pub received_at: i64,
    /// Milliseconds since 1970; absent = it never started.
    pub started_at: Option<i64>,
    /// Milliseconds since 1970.
    pub ended_at: Option<i64>,
    /// Milliseconds that the tool ran.
    pub duration_ms: Option<f64>,
    /// Number of attempts that were started.
    pub attempts: Option<u32>,
    /// Type of the error.
    pub error_type: Option<String>,
    /// The first words of the error.
    pub message: Option<String>,
    /// `safe`, `high` or `critical`.
    pub risk: Option<String>,
    /// Effect that determines the outcome after a crash, such as `side_effect`.
    pub effect: Option<String>,
    /// Arguments, with secrets masked; absent if they are long.
    pub args: Option<Value>,
    /// SHA-256 of the canonical arguments.
    pub args_hash: Option<String>,
    /// SHA-256 of the tool's definition.
    pub definition_hash: Option<String>,
    /// SHA-256 of the result.
    #[serde(default)]
    pub output_hash: Option<String>,
    /// The ruling of policy, in one line.
    pub policy: Option<String>,
    /// The question that was decided about it.
    pub approval: Option<String>,
    /// The principal that approved it.
    pub approved_by: Option<String>,
    /// When its changes were undone, in milliseconds since 1970; absent = they were not.
    pub undone_at: Option<i64>,
}

impl CallSummary {
    /// Creates the summary of a stored call, with the time at which its changes were undone.
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
            device: some(&context.device),
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
            output_hash: end.and_then(|end| end.output_hash.clone()),
            policy: facts.policy.clone(),
            approval: facts.approval.map(|id| id.to_string()),
            approved_by: facts.approved_by.clone(),
            undone_at,
        }
    }
}

/// Returns the wire name of a value that serializes to a text.
pub fn serialized_name(value: &impl Serialize) -> Option<String> {
    json!(value).as_str().map(str::to_owned)
}

/// Converts an empty text to `None`.
fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}
