//! A model's answer in a provider-independent form: text, reasoning, calls, usage and stop reason.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::RawArgs;

use crate::wire_format::Format;

/// One answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Wire format of the answer and of the results of its calls.
    pub format: Format,
    /// The calls to run here, in order.
    pub calls: Vec<ModelCall>,
    /// Calls that the provider ran: recorded, never run here.
    pub hosted: Vec<HostedCall>,
    /// Text of the answer, without reasoning. A refusal is text too.
    pub text: String,
    /// Reasoning, if the provider shows it; for display. `assistant` contains the form that is sent
    /// back to the provider.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// Usage as the provider reports it; `None` if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why the model stopped.
    pub stop: Stop,
    /// The assistant's turn as the next request repeats it: a message (Chat, Anthropic, Gemini,
    /// text) or the list of output items (Responses). It is unchanged except for three corrections
    /// that keep the next request valid: missing ids are filled in, exact duplicates of a call are
    /// omitted, and arguments that are not JSON are wrapped as `{"INVALID_JSON": text}`.
    pub assistant: Value,
    /// Whether the answer is complete. If not, none of its calls may run, and their arguments are
    /// marked as broken.
    pub complete: bool,
    /// Irregularities of the answer, as messages for the operator.
    pub notes: Vec<String>,
}

/// Tokens of one request, as the provider reports them. A count that it does not report is `None`,
/// never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens, including those read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Output tokens, including reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Input tokens read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Input tokens written into a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Output tokens of reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Returns the sum of input and output tokens, as far as they are known; `None` if neither is.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        match (self.input, self.output) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        }
    }
}

/// One call that a model requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The id that its result must have: the provider's, or a generated one (`call_1`, …) if the
    /// format needs an id and there was none. `None` where results are matched by name and order
    /// (Gemini before version 3, Ollama).
    pub provider_id: Option<String>,
    /// The name as the model wrote it: see [`crate::NameMap::original`]. For a provider-defined
    /// item it is the item's type, such as `apply_patch_call`.
    pub name: String,
    /// The arguments, as the provider's original text if it is known.
    pub args: RawArgs,
    /// Provider-specific data of the call that is sent back with its result.
    pub extra: Extra,
}

/// Provider-specific data of a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Extra {
    /// Kind of the call, which decides the form of its result.
    pub kind: CallKind,
    /// Id of the output item (Responses).
    pub item_id: Option<String>,
    /// The caller inside the provider's own program (programmatic tool calling); sent back with the
    /// result.
    pub caller: Option<Value>,
    /// Namespace of the tool (Responses) or name of the toolset (Anthropic).
    pub namespace: Option<String>,
    /// Thought signature of the call (Gemini); sent back with the result.
    pub thought_signature: Option<String>,
    /// Safety checks that an approval of the call acknowledges (computer use).
    pub safety_checks: Option<Value>,
}

/// Kinds of calls with different result forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// A function with JSON arguments.
    #[default]
    Function,
    /// A custom tool with one free text, which arrives as the argument `input`.
    Custom,
    /// The single `function_call` of old Chat Completions.
    LegacyFunction,
    /// `shell_call` (Responses).
    Shell,
    /// `local_shell_call` (Responses, old).
    LocalShell,
    /// `apply_patch_call` (Responses).
    ApplyPatch,
    /// `computer_call` (Responses).
    Computer,
}

/// A call that the provider runs itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostedCall {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// Type of the item, such as `web_search_call` or `server_tool_use`.
    pub kind: String,
    /// Name of the tool, if the item has one.
    pub name: Option<String>,
    /// The item, verbatim.
    pub item: Value,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The answer is finished.
    End,
    /// The model waits for the results of its calls.
    Calls,
    /// The output or context limit is reached.
    Length,
    /// The model or a filter refuses.
    Refused,
    /// The provider paused a long turn: send the turn back unchanged to continue.
    Paused,
    /// The provider failed during the answer, with its message.
    Failed(String),
    /// Another reason, in the provider's terms.
    Other(String),
    /// No reason was given.
    Missing,
}
