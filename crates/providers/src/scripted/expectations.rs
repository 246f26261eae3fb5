//! Expectations of a turn about its request, and the description of a mismatch.

use serde::Deserialize;
use serde_json::Value;

use crate::conversation::{CallAnswer, Message, ModelMessage};
use crate::model::ModelRequest;
use crate::parse_error::truncate;
use crate::tool_declarations::Declarations;

/// Maximum characters of the actual value that a mismatch shows.
const SHOWN: usize = 300;

/// Expectations about a request. Omitted members are not checked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Text that the system prompt contains.
    pub system_contains: Option<String>,
    /// Text that the newest message to the model contains, whatever its origin.
    pub last_user_contains: Option<String>,
    /// Tools that are declared, by canonical name.
    pub tools_include: Vec<String>,
    /// Tools that are not declared.
    pub tools_exclude: Vec<String>,
    /// No tool is declared: the model must answer without tools.
    pub no_tools: bool,
    /// The results of the model's newest calls: all of them, in the order of the calls.
    pub results: Option<Vec<ExpectedResult>>,
    /// Number of messages to and from the model; results are part of the message that made the
    /// calls.
    pub messages: Option<usize>,
}

/// Expectations about one result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedResult {
    /// The tool: the name that the model called, or the canonical name behind it.
    pub tool: String,
    /// How the call ended: `succeeded`, `failed`, `timed_out`, `cancelled`, `denied`, `expired`,
    /// `unknown`; `not_run` if the call never reached the invoker, `open` if there is no result
    /// yet.
    #[serde(default)]
    pub outcome: Option<String>,
    /// Text that the result contains.
    #[serde(default)]
    pub contains: Option<String>,
    /// Whether the result is marked as an error.
    #[serde(default)]
    pub is_error: Option<bool>,
}

/// Valid values of `outcome`.
const OUTCOMES: [&str; 9] = [
    "succeeded",
    "failed",
    "timed_out",
    "cancelled",
    "denied",
    "expired",
    "unknown",
    "not_run",
    "open",
];

impl Expect {
    /// Rejects expectations that no request can meet, which would otherwise be noticed only when
    /// the turn is played.
    pub(super) fn check(&self) -> Result<(), String> {
        for result in self.results.iter().flatten() {
            let Some(outcome) = result.outcome.as_deref() else { continue };
            if !OUTCOMES.contains(&outcome) {
                return Err(format!(
                    "`{outcome}` is not an outcome; one of {}",
                    OUTCOMES.join(", ")
                ));
            }
        }
        if self.no_tools && !self.tools_include.is_empty() {
            return Err("`no_tools` and `tools_include` cannot both be met".to_owned());
        }
        Ok(())
    }

    /// Returns the first mismatch: expected and actual value.
    pub(super) fn mismatch(&self, request: &ModelRequest) -> Option<String> {
        self.texts(request)
            .or_else(|| self.tools(request))
            .or_else(|| self.count(request))
            .or_else(|| results(self.results.as_deref()?, request))
    }

    fn texts(&self, request: &ModelRequest) -> Option<String> {
        let last = request.messages.iter().rev().find_map(|message| match &**message {
            Message::User(user) => Some(user.text.as_str()),
            Message::Model(_) => None,
        });
        missing("the system prompt", self.system_contains.as_deref(), &request.system).or_else(
            || {
                missing(
                    "the last message to the model",
                    self.last_user_contains.as_deref(),
                    last.unwrap_or_default(),
                )
            },
        )
    }

    fn tools(&self, request: &ModelRequest) -> Option<String> {
        let names = request.tools.as_deref().map(declared).unwrap_or_default();
        let list = || if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        if self.no_tools && !names.is_empty() {
            return Some(format!("expected no tools, got {}", list()));
        }
        let has = |tool: &&String| names.contains(&tool.as_str());
        if let Some(tool) = self.tools_include.iter().find(|tool| !has(tool)) {
            return Some(format!("expected the tool `{tool}` to be declared, got {}", list()));
        }
        let tool = self.tools_exclude.iter().find(has)?;
        Some(format!("expected the tool `{tool}` not to be declared, got {}", list()))
    }

    fn count(&self, request: &ModelRequest) -> Option<String> {
        let (expected, came) = (self.messages?, request.messages.len());
        (expected != came).then(|| format!("expected {expected} messages, got {came}"))
    }
}

fn missing(what: &str, expected: Option<&str>, came: &str) -> Option<String> {
    let expected = expected.filter(|expected| !came.contains(*expected))?;
    Some(format!("expected {what} to contain {expected:?}, got {:?}", truncate(came, SHOWN)))
}

/// Returns the canonical names of the declared tools, in order.
fn declared(tools: &Declarations) -> Vec<&str> {
    let items = tools.value.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .map(|item| item.get("function").unwrap_or(item))
        .filter_map(|item| item.get("name")?.as_str())
        .map(|wire| tools.names.original(wire).unwrap_or(wire))
        .collect()
}

fn results(expected: &[ExpectedResult], request: &ModelRequest) -> Option<String> {
    let last = request.messages.iter().rev().find_map(|message| match &**message {
        Message::Model(model) => Some(&**model),
        Message::User(_) => None,
    });
    let came = last.map_or(0, |model| model.answers().len());
    if came != expected.len() {
        return Some(format!(
            "expected {} results, got {came}: {}",
            expected.len(),
            last.map(names).unwrap_or_default()
        ));
    }
    let last = last?;
    let slots = last.turn.calls.iter().zip(last.answers());
    expected.iter().zip(slots).enumerate().find_map(|(i, (expected, (call, answer)))| {
        let what = result(expected, &call.name, answer.as_ref())?;
        Some(format!("result {}: {what}", i + 1))
    })
}

fn names(model: &ModelMessage) -> String {
    model.turn.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn result(expected: &ExpectedResult, called: &str, answer: Option<&CallAnswer>) -> Option<String> {
    let canonical = answer.and_then(|answer| answer.tool.as_ref()).map(|tool| tool.as_str());
    let tool = &expected.tool;
    if tool != called && canonical != Some(tool) {
        return Some(format!("expected one of `{tool}`, got one of `{called}`"));
    }
    let text = answer.map(|answer| text(&answer.wire)).unwrap_or_default();
    let came = match answer {
        None => "open",
        Some(answer) => answer.kind.map_or("not_run", |kind| kind.as_str()),
    };
    if let Some(outcome) = expected.outcome.as_deref().filter(|outcome| *outcome != came) {
        return Some(format!(
            "expected `{tool}` to be {outcome}, got {came}: {}",
            truncate(&text, SHOWN)
        ));
    }
    let is_error = answer.is_some_and(|answer| answer.is_error);
    if let Some(expected) = expected.is_error.filter(|expected| *expected != is_error) {
        return Some(format!(
            "expected `is_error` of `{tool}` to be {expected}, got {is_error}: {}",
            truncate(&text, SHOWN)
        ));
    }
    // Other members of the result, such as a note, count too.
    let whole = answer.map(|answer| answer.wire.to_string()).unwrap_or_default();
    let contains = expected.contains.as_deref().filter(|text| !whole.contains(*text));
    missing(&format!("the result of `{tool}`"), contains, &text)
}

/// Returns the text of a result: of the tool or of an error, else the whole object.
fn text(wire: &Value) -> String {
    let said = wire.get("result").or_else(|| wire.get("message")).and_then(Value::as_str);
    said.map_or_else(|| wire.to_string(), str::to_owned)
}
