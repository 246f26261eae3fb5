//! What a model answered, in one form for all providers.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::RawArgs;

use crate::format::Format;

/// One answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The format it came in, and in which the results go back.
    pub format: Format,
    /// The calls to run here, in order.
    pub calls: Vec<ModelCall>,
    /// Calls that the provider ran itself: recorded, never run here.
    pub hosted: Vec<HostedCall>,
    /// What the model says, without its reasoning; a refusal is text too.
    pub text: String,
    /// What the model thought aloud, where the provider shows it; for people. What goes back to the provider is in `assistant`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// What the answer used, as the provider reports it; `None` = it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why the model stopped.
    pub stop: Stop,
    /// The assistant's turn as the next request repeats it: a message (Chat, Anthropic, Gemini, text) or the list of output items
    /// (Responses). As it came, with three exceptions that keep the next request valid: ids that were missing are filled in, exact
    /// repetitions of a call are left out, and arguments that are no JSON are wrapped as `{"INVALID_JSON": text}`.
    pub assistant: Value,
    /// Whether the answer arrived whole. When not, none of its calls may run, and their arguments say so.
    pub complete: bool,
    /// What was odd, in words for the operator.
    pub notes: Vec<String>,
}

/// Tokens of one request, as the provider reports them. What it does not report is `None`, never 0 (SPEC 2.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the request, those read from a cache included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens of the answer, those of its reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Tokens of the request that were read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Tokens of the request that were written into a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Tokens of the answer that are reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Tokens of request and answer together, as far as they are known; `None` = neither is.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        match (self.input, self.output) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        }
    }
}

/// One call that a model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The id that its result must carry: the provider's, or one made here (`call_1`, …) where the format needs one and there was none.
    /// `None` where results are paired by name and order (Gemini before version 3, Ollama).
    pub provider_id: Option<String>,
    /// The name as the model wrote it: see [`crate::NameMap::original`]. For a provider-defined item it is the item's type, such as
    /// `apply_patch_call`.
    pub name: String,
    /// The arguments, as text wherever the provider's text is known.
    pub args: RawArgs,
    /// What only this provider knows of the call and wants back.
    pub extra: Extra,
}

/// What only the provider knows of a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Extra {
    /// What kind of call it is, which decides the form of its result.
    pub kind: CallKind,
    /// Id of the output item (Responses).
    pub item_id: Option<String>,
    /// Who in the provider's own program calls (programmatic tool calling); goes back with the result.
    pub caller: Option<Value>,
    /// Namespace of the tool (Responses) or name of the toolset (Anthropic).
    pub namespace: Option<String>,
    /// Signature of the thought behind the call (Gemini); goes back with the result.
    pub thought_signature: Option<String>,
    /// Safety checks that a person acknowledges by approving the call (computer use).
    pub safety_checks: Option<Value>,
}

/// The kinds of calls whose results differ in form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// A function with JSON arguments.
    #[default]
    Function,
    /// A custom tool with one free text, which arrives as the argument `input`.
    Custom,
    /// The one `function_call` of old Chat Completions.
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

/// A call that the provider ran, or runs, itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostedCall {
    /// Its id, when it has one.
    pub id: Option<String>,
    /// Type of the item, such as `web_search_call` or `server_tool_use`.
    pub kind: String,
    /// Name of the tool, when the item has one.
    pub name: Option<String>,
    /// The item, verbatim.
    pub item: Value,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It is done.
    End,
    /// It waits for results.
    Calls,
    /// The limit of output or context is reached.
    Length,
    /// It, or a filter, refuses.
    Refused,
    /// The provider paused a long turn: send the turn back as it is.
    Paused,
    /// The provider failed in the middle; its words.
    Failed(String),
    /// Another reason; the provider's word.
    Other(String),
    /// None was given.
    Missing,
}
