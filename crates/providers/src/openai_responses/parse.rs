//! Parses an OpenAI Responses body or a list of output items into a turn.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value, json};

use super::stream;
use super::usage::{reasoning_text, usage};
use crate::call_collector::{
    AddResult, AnswerEnd, CUT, CallCollector, MAX_BLOCKS, broken, clone_field, field, over_limit,
    replay_text, text_field,
};
use crate::model_turn::{CallKind, Extra, HostedCall, ModelCall, Stop, Turn, Usage};
use crate::parse_response::{RawValue, ResponseBody};
use crate::raw_json::{self, PathStep};
use crate::wire_format::Format;

/// One output item.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) value: Value,
    /// Its JSON text, if it arrived in one piece.
    pub(super) raw: String,
    /// Whether it is complete.
    pub(super) done: bool,
}

/// An answer before its calls are checked.
pub(super) struct Answer {
    pub(super) items: Vec<Item>,
    pub(super) end: AnswerEnd,
    /// Stop reason, unless the calls decide it.
    pub(super) stop: Option<Stop>,
    pub(super) usage: Option<Usage>,
    pub(super) notes: Vec<String>,
}

pub(crate) fn parse(doc: &ResponseBody) -> Option<Turn> {
    match doc {
        ResponseBody::Whole(chunk) => whole(chunk).map(turn),
        ResponseBody::Stream(events) => stream::assemble(events).map(turn),
        ResponseBody::Plain(_) => None,
    }
}

fn whole(chunk: &RawValue) -> Option<Answer> {
    let value = &chunk.value;
    if let Value::Array(items) = value {
        let fits = !items.is_empty() && items.iter().all(is_output_item);
        return fits.then(|| bare(items_of(items, &chunk.text)).limited(items.len()));
    }
    if is_output_item(value) && value.get("output").is_none() {
        let items = vec![Item { value: value.clone(), raw: chunk.text.clone(), done: true }];
        return Some(bare(items));
    }
    let output = value.get("output")?.as_array()?;
    if output.is_empty() && text_field(value, "status") == Some("failed") {
        return None;
    }
    let raw = raw_json::member(&chunk.text, "output").unwrap_or_default();
    let (end, stop, notes) = status(value);
    let answer = Answer { items: items_of(output, raw), end, stop, usage: usage(value), notes };
    Some(answer.limited(output.len()))
}

fn bare(items: Vec<Item>) -> Answer {
    Answer { items, end: AnswerEnd::Whole, stop: None, usage: None, notes: Vec::new() }
}

impl Answer {
    /// Fails an answer with more items than [`MAX_BLOCKS`].
    fn limited(mut self, items: usize) -> Self {
        if let Some(failure) = over_limit(items, MAX_BLOCKS, &mut self.notes) {
            self.end = AnswerEnd::Broken;
            self.stop = Some(failure);
        }
        self
    }
}

/// Returns the items of a list, at most [`MAX_BLOCKS`].
pub(super) fn items_of(items: &[Value], raw: &str) -> Vec<Item> {
    let raws = raw_json::elements(raw).unwrap_or_default();
    let raw_at = |i: usize| raws.get(i).copied().unwrap_or_default().to_owned();
    items
        .iter()
        .take(MAX_BLOCKS)
        .enumerate()
        .map(|(i, value)| Item { value: value.clone(), raw: raw_at(i), done: true })
        .collect()
}

fn is_output_item(value: &Value) -> bool {
    match text_field(value, "type") {
        Some("message") => {
            let parts = value.get("content").and_then(Value::as_array);
            parts.is_some_and(|parts| {
                parts.iter().all(|part| {
                    part.get("type").is_some_and(|t| t == "output_text" || t == "refusal")
                })
            })
        }
        Some("reasoning" | "program" | "program_output" | "mcp_approval_request") => true,
        Some(kind) => kind.ends_with("_call"),
        None => false,
    }
}

/// Returns how a response with this status ended.
pub(super) fn status(response: &Value) -> (AnswerEnd, Option<Stop>, Vec<String>) {
    let reason = response.get("incomplete_details").and_then(|d| text_field(d, "reason"));
    match text_field(response, "status") {
        Some("incomplete") => {
            let stop = match reason {
                Some("max_output_tokens") => Stop::Length,
                Some("content_filter") => Stop::Refused,
                Some(other) => Stop::Other(other.to_owned()),
                None => Stop::Length,
            };
            (AnswerEnd::Cut, Some(stop), Vec::new())
        }
        Some(state @ ("failed" | "cancelled" | "in_progress" | "queued")) => {
            let words = response.get("error").and_then(|e| text_field(e, "message"));
            let words = words.unwrap_or(state).to_owned();
            let note = format!("the response is {state}; none of its calls is run");
            (AnswerEnd::Broken, Some(Stop::Failed(words)), vec![note])
        }
        _ => (AnswerEnd::Whole, None, Vec::new()),
    }
}

fn turn(answer: Answer) -> Turn {
    let Answer { items, end, stop, usage, mut notes } = answer;
    let mut reasoning: Vec<String> = Vec::new();
    let last = items.iter().rposition(|item| call_kind(&item.value).is_some());
    let mut calls = CallCollector::new(items.iter().map(|item| text_field(&item.value, "call_id")));
    let (mut hosted, mut replay, mut text) = (Vec::new(), Vec::new(), String::new());
    let mut refused = false;
    for (i, mut item) in items.into_iter().enumerate() {
        if let Some(kind) = call_kind(&item.value) {
            let id = calls.next_id(text_field(&item.value, "call_id"));
            let (args, new) = call(&item, kind, id, end, Some(i) == last);
            if calls.add(new) == AddResult::Repeated {
                continue;
            }
            put_back(&mut item.value, kind, &args, &calls);
        } else if let Some(call) = hosted_call(&item.value) {
            if call.kind == "mcp_approval_request" {
                notes.push(
                    "the provider asks to approve an MCP call of its own; answer it with an mcp_approval_response item".to_owned(),
                );
            }
            hosted.push(call);
        }
        text.push_str(&message_text(&item.value));
        refused |= has_refusal(&item.value);
        if text_field(&item.value, "type") == Some("reasoning") {
            reasoning.extend(Some(reasoning_text(&item.value)).filter(|t| !t.is_empty()));
        }
        replay.push(without_nulls(item.value));
    }
    notes.append(&mut calls.take_notes());
    let by_items = match () {
        () if !calls.list.is_empty() => Stop::Calls,
        () if refused => Stop::Refused,
        () => Stop::End,
    };
    Turn {
        reasoning: reasoning.join("\n\n"),
        usage,
        format: Format::OpenAiResponses,
        stop: stop.unwrap_or(by_items),
        calls: calls.list,
        hosted,
        text,
        assistant: Value::Array(replay),
        complete: end != AnswerEnd::Broken,
        notes,
    }
}

/// Returns the kind of a call item that runs here.
pub(crate) fn call_kind(item: &Value) -> Option<CallKind> {
    match text_field(item, "type")? {
        "function_call" => Some(CallKind::Function),
        "custom_tool_call" => Some(CallKind::Custom),
        "shell_call" => Some(CallKind::Shell),
        "local_shell_call" => Some(CallKind::LocalShell),
        "apply_patch_call" => Some(CallKind::ApplyPatch),
        "computer_call" => Some(CallKind::Computer),
        _ => None,
    }
}

/// Returns the text of the arguments as the provider wrote it, and the call.
fn call(
    item: &Item,
    kind: CallKind,
    id: String,
    end: AnswerEnd,
    last: bool,
) -> (String, ModelCall) {
    let value = &item.value;
    let (args, is_value) = arguments(value, &item.raw, kind);
    let unfinished = matches!(text_field(value, "status"), Some("incomplete" | "in_progress"));
    let judged = match () {
        () if end != AnswerEnd::Broken && (unfinished || !item.done) => broken(CUT),
        () if is_value || kind == CallKind::Custom => end.value(args.clone(), last),
        () => end.text(args.clone(), last),
    };
    let name = match kind {
        CallKind::Function | CallKind::Custom => text_field(value, "name").unwrap_or_default(),
        // A provider-defined item has no name except its type.
        _ => text_field(value, "type").unwrap_or_default(),
    };
    let extra = Extra {
        kind,
        item_id: text_field(value, "id").map(str::to_owned),
        caller: clone_field(value, "caller"),
        namespace: text_field(value, "namespace").map(str::to_owned),
        thought_signature: None,
        safety_checks: clone_field(value, "pending_safety_checks"),
    };
    (args, ModelCall { provider_id: Some(id), name: name.to_owned(), args: judged, extra })
}

fn arguments(value: &Value, raw: &str, kind: CallKind) -> (String, bool) {
    let member = |key: &str| {
        let text = raw_json::find(raw, &[PathStep::Key(key)]).map(str::to_owned);
        text.or_else(|| value.get(key).map(Value::to_string)).unwrap_or_default()
    };
    match kind {
        CallKind::Function => match value.get("arguments") {
            Some(Value::String(text)) => (text.clone(), false),
            None | Some(Value::Null) => (String::new(), false),
            Some(_) => (member("arguments"), true),
        },
        CallKind::Custom => (
            json!({"input": field(value, &["input"]).cloned().unwrap_or("".into())}).to_string(),
            false,
        ),
        CallKind::ApplyPatch => (member("operation"), true),
        CallKind::Computer => {
            let keys = ["action", "actions", "pending_safety_checks"];
            let parts: Map<String, Value> = keys
                .into_iter()
                .filter_map(|key| Some((key.to_owned(), clone_field(value, key)?)))
                .collect();
            (Value::Object(parts).to_string(), true)
        }
        _ => (member("action"), true),
    }
}

/// Fills in required members of the next request: the id, and arguments that are JSON.
fn put_back(item: &mut Value, kind: CallKind, args: &str, calls: &CallCollector) {
    let Some(object) = item.as_object_mut() else { return };
    if let Some(id) = calls.last_id() {
        object.insert("call_id".to_owned(), id.into());
    }
    if kind == CallKind::Function {
        object.insert("arguments".to_owned(), replay_text(args).into());
    }
}

/// Returns whether an item that does not run here is a hosted call.
pub(crate) fn is_hosted(kind: &str) -> bool {
    kind.ends_with("_call") || kind == "mcp_approval_request"
}

fn hosted_call(item: &Value) -> Option<HostedCall> {
    let kind = text_field(item, "type").filter(|kind| is_hosted(kind))?;
    Some(HostedCall {
        id: text_field(item, "id").or_else(|| text_field(item, "call_id")).map(str::to_owned),
        kind: kind.to_owned(),
        name: text_field(item, "name").map(str::to_owned),
        item: item.clone(),
    })
}

/// Returns the text of a message item.
pub(crate) fn message_text(item: &Value) -> String {
    if text_field(item, "type") != Some("message") {
        return String::new();
    }
    let parts =
        item.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    parts
        .iter()
        .filter_map(|part| text_field(part, "text").or_else(|| text_field(part, "refusal")))
        .collect()
}

/// Returns whether the item contains a refusal, which is a part of an otherwise complete message.
fn has_refusal(item: &Value) -> bool {
    let parts = item.get("content").and_then(Value::as_array);
    parts.is_some_and(|parts| parts.iter().any(|part| text_field(part, "type") == Some("refusal")))
}

/// Removes null members: the API sends them in output but rejects them in input.
fn without_nulls(mut item: Value) -> Value {
    if let Some(object) = item.as_object_mut() {
        object.retain(|_, value| !value.is_null());
    }
    item
}
