//! Parses a Chat Completions body or a bare assistant message into a turn.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value, json};

use super::stream;
use super::usage::{reasoning, usage};
use crate::call_collector::{
    AddResult, AnswerEnd, CUT, CallCollector, MAX_CALLS, broken, field, over_limit, replay_object,
    replay_text, text_field,
};
use crate::model_turn::{CallKind, Extra, ModelCall, Stop, Turn, Usage};
use crate::parse_error::{ParseError, provider_error};
use crate::parse_response::{RawValue, ResponseBody};
use crate::raw_json::{self, PathStep};
use crate::text_tools;
use crate::wire_format::Format;

/// One entry of `tool_calls`, complete or assembled from deltas.
#[derive(Debug, Clone)]
pub(super) struct CallPart {
    /// The entry as received, including provider-specific members.
    pub(super) item: Map<String, Value>,
    pub(super) name: String,
    pub(super) args: String,
    /// Whether the arguments were an object instead of a string.
    pub(super) is_value: bool,
    /// Whether a call in the text has no end.
    pub(super) cut: bool,
    pub(super) kind: CallKind,
}

impl CallPart {
    pub(super) fn id(&self) -> Option<&str> {
        self.item.get("id").and_then(Value::as_str).filter(|id| !id.is_empty())
    }
}

/// An answer before its calls are checked.
pub(super) struct Answer {
    /// The assistant's message without its calls.
    pub(super) message: Map<String, Value>,
    pub(super) parts: Vec<CallPart>,
    pub(super) finish: Option<String>,
    /// The failure that ended the answer early, if any.
    pub(super) failure: Option<Stop>,
    pub(super) whole: bool,
    /// Whether it was streamed.
    pub(super) streamed: bool,
    /// Ollama's native format: results are matched by name, ids are not generated.
    pub(super) native: bool,
    pub(super) usage: Option<Usage>,
    pub(super) notes: Vec<String>,
}

pub(crate) fn parse(doc: &ResponseBody) -> Option<Turn> {
    answer(doc).map(|answer| turn(answer, true))
}

/// Parses the answer of a model whose calls are text: `<tool_call>` in its content is not converted
/// here.
pub(crate) fn parse_untagged(doc: &ResponseBody) -> Option<Turn> {
    answer(doc).map(|answer| turn(answer, false))
}

fn answer(doc: &ResponseBody) -> Option<Answer> {
    match doc {
        ResponseBody::Whole(chunk) => whole(chunk),
        ResponseBody::Stream(events) => stream::assemble(events),
        ResponseBody::Plain(_) => None,
    }
}

fn whole(chunk: &RawValue) -> Option<Answer> {
    let value = &chunk.value;
    let mut notes = Vec::new();
    let mut failure = failure_beside(value, &mut notes);
    let (message, place, finish, native) = if let Some(choices) = value.get("choices") {
        let choices = choices.as_array()?;
        if choices.len() > 1 {
            notes.push(format!("{} choices; the first one counts", choices.len()));
        }
        let first = choices.first()?;
        let steps = vec![PathStep::Key("choices"), PathStep::Index(0), PathStep::Key("message")];
        (first.get("message")?, steps, text_field(first, "finish_reason"), false)
    } else if let Some(message) = native_message(value) {
        (message, vec![PathStep::Key("message")], text_field(value, "done_reason"), true)
    } else {
        let has_role = value.get("role").is_some_and(|role| role == "assistant");
        let is_bare = value.get("tool_calls").is_some() || (has_role && is_content(value));
        is_bare.then_some((value, vec![], None, false))?
    };
    let raw = raw_json::find(&chunk.text, &place).unwrap_or_default();
    let mut rest = message.as_object()?.clone();
    let entries = rest.get("tool_calls").and_then(Value::as_array).map_or(0, Vec::len);
    failure = failure.or_else(|| over_limit(entries, MAX_CALLS, &mut notes));
    let parts = take_parts(&mut rest, raw);
    rest.entry("role").or_insert_with(|| "assistant".into());
    let finish = finish.map(str::to_owned);
    let usage = usage(value);
    // A stream of lines that was cut after the first one parses as a single text.
    let whole = !native || value.get("done") != Some(&Value::Bool(false));
    if !whole {
        notes.push("the stream ended before the answer was complete".to_owned());
    }
    let streamed = false;
    Some(Answer { message: rest, parts, finish, failure, whole, streamed, native, usage, notes })
}

/// Returns the failure that a provider reports in addition to a partial answer: at the top level or
/// in the first choice (OpenRouter).
pub(super) fn failure_beside(value: &Value, notes: &mut Vec<String>) -> Option<Stop> {
    let choices = value.get("choices")?.as_array()?;
    let mut places = std::iter::once(value).chain(choices.first());
    let is_empty = |error: &Value| *error == json!({}) || *error == json!("");
    let place = places.find(|at| at.get("error").is_some_and(|e| !e.is_null() && !is_empty(e)))?;
    let Some(ParseError::Provider { kind, message }) = provider_error(place) else { return None };
    notes.push(format!("the provider failed in the middle ({kind}): {message}"));
    Some(Stop::Failed(message))
}

/// Returns how an answer with this finish reason ended, and the failure that some reasons indicate.
/// An unknown reason does not prove that the answer is complete.
fn classify_end(finish: Option<&str>, streamed: bool) -> (AnswerEnd, Option<Stop>) {
    match finish {
        None if streamed => (AnswerEnd::Unsaid, None),
        None | Some("stop" | "tool_calls" | "function_call" | "eos") => (AnswerEnd::Whole, None),
        // OpenRouter and others; vLLM; DeepSeek.
        Some(reason @ ("error" | "abort" | "insufficient_system_resource")) => {
            let words = format!("the provider broke the answer off (finish_reason {reason:?})");
            (AnswerEnd::Broken, Some(Stop::Failed(words)))
        }
        Some(_) => (AnswerEnd::Cut, None),
    }
}

/// Returns the message of Ollama's `/api/chat`. Events of other formats have a `message` too, but
/// also a `type`.
pub(crate) fn native_message(value: &Value) -> Option<&Value> {
    value.get("message").filter(|message| message.is_object() && value.get("type").is_none())
}

/// Returns whether the content may belong to Chat Completions; blocks of other formats do not.
fn is_content(value: &Value) -> bool {
    match value.get("content") {
        Some(Value::Array(parts)) => {
            parts.iter().all(|p| p.get("type").is_some_and(|t| t == "text" || t == "refusal"))
        }
        Some(Value::String(_) | Value::Null) => true,
        _ => false,
    }
}

/// Removes the calls from a complete message and returns them, at most [`MAX_CALLS`].
fn take_parts(message: &mut Map<String, Value>, raw: &str) -> Vec<CallPart> {
    let mut parts = Vec::new();
    if let Some(Value::Array(calls)) = message.shift_remove("tool_calls") {
        let raws = call_texts(raw);
        for (i, call) in calls.into_iter().take(MAX_CALLS).enumerate() {
            parts.extend(part(call, raws.get(i).copied().unwrap_or_default()));
        }
    }
    if let Some(Value::Object(call)) = message.shift_remove("function_call") {
        let raw = raw_json::member(raw, "function_call").unwrap_or_default();
        let (name, (args, is_value)) = (name_in(&call), arguments(&call, "arguments", raw));
        let kind = CallKind::LegacyFunction;
        parts.push(CallPart { item: call, name, args, is_value, cut: false, kind });
    }
    parts
}

/// Returns the texts of the entries of `tool_calls`.
pub(super) fn call_texts(message: &str) -> Vec<&str> {
    raw_json::member(message, "tool_calls").and_then(raw_json::elements).unwrap_or_default()
}

/// Parses one entry of `tool_calls`. Some servers omit the wrapper `function`.
pub(super) fn part(call: Value, raw: &str) -> Option<CallPart> {
    let Value::Object(item) = call else { return None };
    let (inner, key, kind, raw) = match (item.get("function"), item.get("custom")) {
        (Some(Value::Object(f)), _) => (
            f,
            "arguments",
            CallKind::Function,
            raw_json::member(raw, "function").unwrap_or_default(),
        ),
        (_, Some(Value::Object(c))) => {
            (c, "input", CallKind::Custom, raw_json::member(raw, "custom").unwrap_or_default())
        }
        _ => (&item, "arguments", CallKind::Function, raw),
    };
    let (name, (args, is_value)) = (name_in(inner), arguments(inner, key, raw));
    Some(CallPart { item, name, args, is_value, cut: false, kind })
}

fn name_in(object: &Map<String, Value>) -> String {
    object.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the text of the arguments, and whether they were an object. `null` counts as empty, like
/// `""`.
pub(super) fn arguments(object: &Map<String, Value>, key: &str, raw: &str) -> (String, bool) {
    match object.get(key) {
        Some(Value::String(text)) => (text.clone(), false),
        None | Some(Value::Null) => (String::new(), false),
        Some(value) => {
            (raw_json::member(raw, key).map_or_else(|| value.to_string(), Into::into), true)
        }
    }
}

/// Checks the calls of an answer and builds the turn.
fn turn(answer: Answer, tagged: bool) -> Turn {
    let Answer {
        mut message, mut parts, finish, whole, streamed, native, usage, mut notes, ..
    } = answer;
    let (end, broken_off) = classify_end(finish.as_deref(), streamed && !native);
    let failure = answer.failure.or(broken_off);
    let end = if whole && failure.is_none() { end } else { AnswerEnd::Broken };
    let mut text = content_text(&message);
    if tagged && parts.is_empty() && end != AnswerEnd::Broken {
        parts = tagged_parts(&mut message, &text, &mut notes);
        if !parts.is_empty() {
            text = text_tools::without_calls(&text);
        }
    }
    let mut calls = CallCollector::new(parts.iter().map(CallPart::id));
    let mut replay = Vec::new();
    let count = parts.len();
    for (i, mut part) in parts.into_iter().enumerate() {
        let id = provider_id(&part, native, &mut calls);
        if calls.add(call(&part, id, end, i + 1 == count)) == AddResult::Repeated {
            continue;
        }
        if let Some(id) = calls.last_id().filter(|id| part.id() != Some(*id)) {
            part.item.insert("id".to_owned(), id.into());
        }
        replay.push(replayed(part, native));
    }
    notes.append(&mut calls.take_notes());
    put_calls(&mut message, replay);
    Turn {
        reasoning: reasoning(&message),
        usage,
        format: Format::OpenAiChat,
        stop: failure.unwrap_or_else(|| stop(finish.as_deref(), !calls.list.is_empty(), &message)),
        calls: calls.list,
        hosted: Vec::new(),
        text,
        assistant: Value::Object(message),
        complete: end != AnswerEnd::Broken,
        notes,
    }
}

fn provider_id(part: &CallPart, native: bool, calls: &mut CallCollector) -> Option<String> {
    match part.kind {
        CallKind::LegacyFunction => None,
        _ if native && part.id().is_none() => None,
        _ => Some(calls.next_id(part.id())),
    }
}

fn call(part: &CallPart, provider_id: Option<String>, end: AnswerEnd, last: bool) -> ModelCall {
    let args = match part.kind {
        _ if part.cut => broken(CUT),
        // Free text has no end marker, so a cut answer means a cut call.
        CallKind::Custom => {
            let wrapped = json!({"input": part.args}).to_string();
            let may_be_cut = matches!(end, AnswerEnd::Cut | AnswerEnd::Unsaid);
            if may_be_cut && last {
                AnswerEnd::Cut.value(wrapped, last)
            } else {
                end.text(wrapped, last)
            }
        }
        _ if part.is_value => end.value(part.args.clone(), last),
        _ => end.text(part.args.clone(), last),
    };
    let extra = Extra { kind: part.kind, ..Extra::default() };
    ModelCall { provider_id, name: part.name.clone(), args, extra }
}

/// Returns the entry for the next request.
fn replayed(mut part: CallPart, native: bool) -> (CallKind, Value) {
    let args: Value = match (part.kind, native) {
        (CallKind::Custom, _) => part.args.clone().into(),
        (_, true) => replay_object(&part.args),
        _ => replay_text(&part.args).into(),
    };
    let inner = match part.kind {
        CallKind::LegacyFunction => None,
        CallKind::Custom => Some(("custom", "input")),
        _ => Some(("function", "arguments")),
    };
    match inner {
        None => {
            part.item.insert("name".to_owned(), part.name.into());
            part.item.insert("arguments".to_owned(), args);
        }
        Some((wrapper, key)) => {
            if !native {
                part.item.entry("type").or_insert_with(|| wrapper.into());
            }
            part.item.shift_remove("arguments");
            part.item.shift_remove("name");
            let inner = part.item.entry(wrapper).or_insert_with(|| json!({}));
            if let Value::Object(inner) = inner {
                inner.insert("name".to_owned(), part.name.into());
                inner.insert(key.to_owned(), args);
            }
        }
    }
    (part.kind, Value::Object(part.item))
}

fn put_calls(message: &mut Map<String, Value>, replay: Vec<(CallKind, Value)>) {
    let mut entries = Vec::new();
    for (kind, item) in replay {
        if kind == CallKind::LegacyFunction {
            message.insert("function_call".to_owned(), item);
        } else {
            entries.push(item);
        }
    }
    if !entries.is_empty() {
        message.insert("tool_calls".to_owned(), entries.into());
    }
}

/// Returns the calls that a server left as text in the content. They become native calls in the
/// replayed turn.
fn tagged_parts(
    message: &mut Map<String, Value>,
    content: &str,
    notes: &mut Vec<String>,
) -> Vec<CallPart> {
    let found = text_tools::tagged_calls(content);
    if found.is_empty() {
        return Vec::new();
    }
    notes.push("the calls came as <tool_call> text in the content".to_owned());
    let left = text_tools::without_calls(content);
    let left = if left.is_empty() { Value::Null } else { left.into() };
    message.insert("content".to_owned(), left);
    let part = |call: text_tools::TextCall| CallPart {
        item: Map::new(),
        name: call.name,
        args: call.args,
        is_value: false,
        cut: call.cut,
        kind: CallKind::Function,
    };
    found.into_iter().map(part).collect()
}

fn content_text(message: &Map<String, Value>) -> String {
    let text = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| text_field(part, "text").or_else(|| text_field(part, "refusal")))
            .collect::<Vec<_>>()
            .concat(),
        _ => String::new(),
    };
    let refusal = message.get("refusal").and_then(Value::as_str).unwrap_or_default();
    if text.is_empty() { refusal.to_owned() } else { text }
}

/// Returns the stop reason. With `required` or a named choice it may be `stop` although there are
/// calls, so the calls decide.
fn stop(finish: Option<&str>, has_calls: bool, message: &Map<String, Value>) -> Stop {
    let message = Value::Object(message.clone());
    match finish {
        Some("length" | "max_tokens") => Stop::Length,
        Some("content_filter") => Stop::Refused,
        _ if has_calls => Stop::Calls,
        _ if field(&message, &["refusal"]).is_some() => Stop::Refused,
        Some("stop" | "eos") => Stop::End,
        Some(other) => Stop::Other(other.to_owned()),
        None => Stop::Missing,
    }
}
