//! The reply to a model's response whose calls ran.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_app::{ExecCall, ExecReply};
use toolcrib_core::Answer;

use super::document::{CallDocument, PendingApproval};

/// The messages for the model, and the outcome of each call.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExecDocument {
    /// The format of the response and of the messages.
    pub format: String,
    /// The messages (or items) to append after the assistant's turn; empty if the response has no
    /// call.
    pub messages: Vec<Value>,
    /// The assistant's turn itself, for callers that sent a stream.
    pub assistant: Value,
    /// One for each call, in their order.
    pub calls: Vec<ExecutedCall>,
    /// Questions that a person must decide before their calls continue.
    pub waiting: Vec<PendingApproval>,
    /// Calls that the provider ran itself: name, kind and result.
    pub hosted: Vec<HostedDocument>,
    /// Irregularities of the response.
    pub notes: Vec<String>,
    /// Whether the response is complete; if not, none of its calls ran, and each result states
    /// that.
    pub complete: bool,
}

/// One call of an answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExecutedCall {
    /// The id that the provider gave it.
    pub provider_id: Option<String>,
    /// The call with its outcome.
    #[serde(flatten)]
    pub call: CallDocument,
}

/// A call that the provider ran itself.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HostedDocument {
    /// The tool, if it is known.
    pub name: Option<String>,
    /// The provider's name for it.
    pub kind: String,
}

impl From<ExecReply> for ExecDocument {
    fn from(reply: ExecReply) -> Self {
        let question = |call: &ExecCall| match &call.answer {
            Answer::Suspended(request) => Some(PendingApproval::from(&**request)),
            Answer::Done(_) => None,
        };
        let waiting = reply.calls.iter().filter_map(question).collect();
        let executed = |call: ExecCall| ExecutedCall {
            provider_id: call.provider_id,
            call: call.answer.into(),
        };
        let hosted = reply.hosted.into_iter();
        Self {
            format: reply.format.to_string(),
            messages: reply.messages,
            assistant: reply.assistant,
            calls: reply.calls.into_iter().map(executed).collect(),
            waiting,
            hosted: hosted.map(|one| HostedDocument { name: one.name, kind: one.kind }).collect(),
            notes: reply.notes,
            complete: reply.complete,
        }
    }
}

impl ExecDocument {
    /// Returns the messages to append to the conversation, after the assistant's turn if requested.
    #[must_use]
    pub fn into_messages(self, with_assistant: bool) -> Vec<Value> {
        let mut messages = match self.assistant {
            _ if !with_assistant => Vec::new(),
            Value::Null => Vec::new(),
            Value::Array(items) => items,
            turn => vec![turn],
        };
        messages.extend(self.messages);
        messages
    }
}
