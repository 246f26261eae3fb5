//! One turn of a script: its file format, and the answer that it produces.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::model::FailureKind;
use crate::model_turn::{Turn, Usage};
use crate::scripted::expectations::Expect;
use crate::wire_format::Format;

/// Maximum delay before an answer, in milliseconds, so that a typing error cannot block a run.
const MAX_DELAY_MS: u64 = 60_000;

/// One turn of a script. Every member is optional, but at least one of `say`, `calls` and `fail` is
/// required.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptTurn {
    /// Text of the answer. With `fail`: the text that arrived before the failure.
    pub say: Option<String>,
    /// Reasoning.
    pub think: Option<String>,
    /// The calls, in order.
    pub calls: Vec<ScriptCall>,
    /// Stop reason, if it is neither the end nor calls.
    pub stop: Option<ScriptStop>,
    /// The request fails.
    pub fail: Option<ScriptFailure>,
    /// Delay before the answer, in milliseconds, at most 60,000.
    pub delay_ms: u64,
    /// Usage of the answer; if omitted, the model reports none.
    pub usage: Option<ScriptUsage>,
    /// Expectations about the request.
    pub expect: Expect,
    /// The requests that the turn answers.
    #[serde(rename = "for")]
    pub answers: TurnUse,
}

/// The requests that a turn answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnUse {
    /// Requests of the conversation.
    #[default]
    Conversation,
    /// Requests for a summary of it (compaction).
    Summary,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptCall {
    /// Name of the tool, as the model writes it.
    pub tool: String,
    /// Its arguments: an object, or a text that is sent unchanged (for arguments that are not
    /// JSON). The default is an empty text.
    #[serde(default)]
    pub args: Value,
    /// Its id; the default is `call_1`, `call_2`, … through the whole script.
    #[serde(default)]
    pub id: Option<String>,
}

/// Why an answer stops early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptStop {
    /// The output limit: the last call may be cut.
    Length,
    /// A filter or the model refuses.
    Refused,
}

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFailure {
    /// Its kind: `rate_limited`, `context_exceeded`, …
    pub kind: FailureKind,
    /// The provider's message.
    #[serde(default)]
    pub message: String,
}

/// Usage of an answer, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptUsage {
    /// Input tokens.
    pub input: Option<u64>,
    /// Output tokens.
    pub output: Option<u64>,
    /// Input tokens read from a cache.
    pub cache_read: Option<u64>,
    /// Input tokens written into a cache.
    pub cache_write: Option<u64>,
    /// Output tokens of reasoning.
    pub reasoning: Option<u64>,
}

impl ScriptTurn {
    /// Creates a turn with a text.
    #[must_use]
    pub fn say(text: impl Into<String>) -> Self {
        Self { say: Some(text.into()), ..Self::default() }
    }

    /// Creates a turn with a call; see [`Self::and_call`] for more calls.
    #[must_use]
    pub fn call(tool: impl Into<String>, args: Value) -> Self {
        Self::default().and_call(tool, args)
    }

    /// Creates a turn whose request fails.
    #[must_use]
    pub fn fail(kind: FailureKind, message: impl Into<String>) -> Self {
        let fail = ScriptFailure { kind, message: message.into() };
        Self { fail: Some(fail), ..Self::default() }
    }

    /// Adds a call. Arguments that are a text are sent unchanged.
    #[must_use]
    pub fn and_call(mut self, tool: impl Into<String>, args: Value) -> Self {
        self.calls.push(ScriptCall { tool: tool.into(), args, id: None });
        self
    }

    /// Adds reasoning.
    #[must_use]
    pub fn think(mut self, text: impl Into<String>) -> Self {
        self.think = Some(text.into());
        self
    }

    /// Sets the stop reason.
    #[must_use]
    pub fn stop(mut self, stop: ScriptStop) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Sets the usage.
    #[must_use]
    pub fn used(mut self, input: u64, output: u64) -> Self {
        let usage = ScriptUsage { input: Some(input), output: Some(output), ..Default::default() };
        self.usage = Some(usage);
        self
    }

    /// Sets the delay, in milliseconds.
    #[must_use]
    pub fn delay_ms(mut self, wait: u64) -> Self {
        self.delay_ms = wait;
        self
    }

    /// Sets the expectations about the request.
    #[must_use]
    pub fn expect(mut self, expect: Expect) -> Self {
        self.expect = expect;
        self
    }

    /// Makes the turn answer a summary request.
    #[must_use]
    pub fn for_summary(mut self) -> Self {
        self.answers = TurnUse::Summary;
        self
    }

    /// Checks that the turn is consistent.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.say.is_none() && self.calls.is_empty() && self.fail.is_none() {
            return Err("the turn says nothing; give it `say`, `calls` or `fail`".to_owned());
        }
        if self.fail.is_some() && !self.calls.is_empty() {
            return Err("a turn that fails has no calls; remove `calls` or `fail`".to_owned());
        }
        if self.fail.is_some() && self.stop.is_some() {
            return Err("a turn that fails does not stop; remove `stop` or `fail`".to_owned());
        }
        if self.answers == TurnUse::Summary && !self.calls.is_empty() {
            return Err("a summary has no calls; remove `calls` or `for: summary`".to_owned());
        }
        if self.delay_ms > MAX_DELAY_MS {
            return Err(format!("`delay_ms` is {}; at most {MAX_DELAY_MS}", self.delay_ms));
        }
        for call in &self.calls {
            let fits = matches!(call.args, Value::Null | Value::Object(_) | Value::String(_));
            if call.tool.trim().is_empty() || !fits {
                let tool = &call.tool;
                return Err(format!(
                    "the call of `{tool}` needs a tool name and `args` that are an object, or a text that is sent as it is"
                ));
            }
        }
        Ok(())
    }

    pub(super) fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }

    /// Creates the answer: a response body of Chat Completions, parsed like a live one. `ids`
    /// counts the calls of the whole script.
    pub(super) fn answer(&self, ids: &mut usize) -> Result<Turn, String> {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        let no_text = self.say.is_none() && !self.calls.is_empty();
        let say = self.say.clone().unwrap_or_default();
        message.insert("content".to_owned(), if no_text { Value::Null } else { say.into() });
        if !self.calls.is_empty() {
            let calls: Vec<Value> = self.calls.iter().map(|call| call.wire(ids)).collect();
            message.insert("tool_calls".to_owned(), calls.into());
        }
        let body =
            json!({"choices": [{"index": 0, "message": message, "finish_reason": self.finish()}]});
        let mut turn = crate::parse(Format::OpenAiChat, body.to_string().as_bytes())
            .map_err(|error| error.to_string())?;
        turn.reasoning = self.think.clone().unwrap_or_default();
        turn.usage = self.usage.map(ScriptUsage::into_usage);
        Ok(turn)
    }

    fn finish(&self) -> &'static str {
        match self.stop {
            Some(ScriptStop::Length) => "length",
            Some(ScriptStop::Refused) => "content_filter",
            None if self.calls.is_empty() => "stop",
            None => "tool_calls",
        }
    }
}

impl ScriptCall {
    /// Returns the call in the wire format.
    fn wire(&self, ids: &mut usize) -> Value {
        *ids += 1;
        let id = self.id.clone().unwrap_or_else(|| format!("call_{ids}"));
        let function = json!({"name": self.tool, "arguments": self.arguments()});
        json!({"id": id, "type": "function", "function": function})
    }

    /// Returns the text of the arguments.
    pub(super) fn arguments(&self) -> String {
        match &self.args {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            object => object.to_string(),
        }
    }
}

impl ScriptUsage {
    fn into_usage(self) -> Usage {
        let Self { input, output, cache_read, cache_write, reasoning } = self;
        Usage { input, output, cache_read, cache_write, reasoning }
    }
}
