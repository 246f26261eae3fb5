//! Parses an Anthropic Messages body, a bare assistant message, or a list of content blocks into a
//! turn.
#![deny(clippy::indexing_slicing)]

use serde_json::{Value, json};

use super::stream;
use super::usage::Counters;
use crate::call_collector::{
    AddResult, AnswerEnd, CUT, CallCollector, MAX_BLOCKS, broken, clone_field, over_limit,
    replay_object, text_field,
};
use crate::model_turn::{CallKind, Extra, HostedCall, ModelCall, Stop, Turn};
use crate::parse_response::{RawValue, ResponseBody};
use crate::raw_json;
use crate::wire_format::Format;

/// One content block.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) value: Value,
    /// Text of the input: from the body, or the concatenated stream deltas.
    pub(super) input: String,
    /// Whether the input was streamed as text, so that it may be incomplete.
    pub(super) streamed: bool,
    /// Whether the block is complete.
    pub(super) done: bool,
}

/// An answer before its calls are checked.
pub(super) struct Answer {
    pub(super) blocks: Vec<Block>,
    pub(super) stop_reason: Option<String>,
    /// The failure that ended the answer early, if any.
    pub(super) failure: Option<Stop>,
    pub(super) whole: bool,
    pub(super) counters: Counters,
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
    let (content, raw) = match value {
        Value::Array(_) => (value, chunk.text.as_str()),
        _ => (value.get("content")?, raw_json::member(&chunk.text, "content").unwrap_or_default()),
    };
    let is_ours = value.is_array()
        || text_field(value, "type") == Some("message")
        || text_field(value, "role") == Some("assistant");
    let blocks = match content {
        _ if !is_ours || value.get("tool_calls").is_some() => return None,
        Value::String(text) => vec![block(json!({"type": "text", "text": text}), "")],
        Value::Array(items) if items.iter().all(is_block) => {
            let raws = raw_json::elements(raw).unwrap_or_default();
            let raw_at = |i: usize| raws.get(i).copied().unwrap_or_default();
            let items = items.iter().take(MAX_BLOCKS).enumerate();
            items.map(|(i, b)| block(b.clone(), raw_at(i))).collect()
        }
        _ => return None,
    };
    if value.is_array() && blocks.is_empty() {
        return None;
    }
    let mut counters = Counters::default();
    counters.add(value.get("usage"));
    let mut notes = Vec::new();
    let failure = over_limit(content.as_array().map_or(0, Vec::len), MAX_BLOCKS, &mut notes);
    Some(Answer {
        blocks,
        counters,
        stop_reason: text_field(value, "stop_reason").map(str::to_owned),
        whole: failure.is_none(),
        failure,
        notes,
    })
}

/// Returns whether this is a content block of Messages and of no other format.
fn is_block(block: &Value) -> bool {
    text_field(block, "type").is_some_and(|kind| {
        !kind.ends_with("_call") && !matches!(kind, "output_text" | "message" | "reasoning")
    })
}

fn block(value: Value, raw: &str) -> Block {
    let input = match value.get("input") {
        None | Some(Value::Null) => String::new(),
        Some(input) => {
            raw_json::member(raw, "input").map_or_else(|| input.to_string(), str::to_owned)
        }
    };
    Block { value, input, streamed: false, done: true }
}

fn turn(answer: Answer) -> Turn {
    let Answer { blocks, stop_reason, failure, whole, counters, mut notes } = answer;
    let end = match stop_reason.as_deref() {
        _ if !whole => AnswerEnd::Broken,
        Some("max_tokens" | "model_context_window_exceeded" | "refusal") => AnswerEnd::Cut,
        _ => AnswerEnd::Whole,
    };
    let is_call = |block: &Block| text_field(&block.value, "type") == Some("tool_use");
    let given = |block: &Block| text_field(&block.value, "id").map(str::to_owned);
    let used: Vec<_> = blocks.iter().filter(|b| is_call(b)).map(given).collect();
    let mut calls = CallCollector::new(used.iter().map(Option::as_deref));
    let (mut hosted, mut replay, mut text) = (Vec::new(), Vec::new(), String::new());
    let mut reasoning = String::new();
    let count = blocks.len();
    for (i, mut block) in blocks.into_iter().enumerate() {
        match text_field(&block.value, "type") {
            Some("tool_use") => {
                let id = calls.next_id(text_field(&block.value, "id"));
                if calls.add(call(&block, id, end, i + 1 == count)) == AddResult::Repeated {
                    continue;
                }
                put_back(&mut block, calls.last_id().unwrap_or_default());
            }
            Some("text") => text.push_str(text_field(&block.value, "text").unwrap_or_default()),
            Some("thinking") => {
                reasoning.push_str(text_field(&block.value, "thinking").unwrap_or_default());
            }
            Some(kind @ ("server_tool_use" | "mcp_tool_use")) => hosted.push(HostedCall {
                id: text_field(&block.value, "id").map(str::to_owned),
                kind: kind.to_owned(),
                name: text_field(&block.value, "name").map(str::to_owned),
                item: block.value.clone(),
            }),
            _ => {}
        }
        if is_replayable(&block) {
            replay.push(block.value);
        }
    }
    notes.append(&mut calls.take_notes());
    Turn {
        reasoning,
        usage: counters.usage(),
        format: Format::Anthropic,
        stop: failure.unwrap_or_else(|| stop(stop_reason.as_deref(), !calls.list.is_empty())),
        calls: calls.list,
        hosted,
        text,
        assistant: json!({"role": "assistant", "content": replay}),
        complete: end != AnswerEnd::Broken,
        notes,
    }
}

fn call(block: &Block, id: String, end: AnswerEnd, last: bool) -> ModelCall {
    let value = &block.value;
    let args = match () {
        () if end != AnswerEnd::Broken && !block.done => broken(CUT),
        () if block.streamed => end.text(block.input.clone(), last),
        () => end.value(block.input.clone(), last),
    };
    let extra = Extra {
        kind: CallKind::Function,
        caller: clone_field(value, "caller"),
        namespace: text_field(value, "toolset_name").map(str::to_owned),
        ..Extra::default()
    };
    let name = text_field(value, "name").unwrap_or_default().to_owned();
    ModelCall { provider_id: Some(id), name, args, extra }
}

/// Fills in required members of the next request: the id, and an input that is an object.
fn put_back(block: &mut Block, id: &str) {
    let Some(object) = block.value.as_object_mut() else { return };
    object.insert("id".to_owned(), id.into());
    if block.streamed || !object.get("input").is_some_and(Value::is_object) {
        object.insert("input".to_owned(), replay_object(&block.input));
    }
}

/// Returns whether the next request may contain the block: Messages rejects empty texts, and
/// thinking blocks without a signature.
fn is_replayable(block: &Block) -> bool {
    match text_field(&block.value, "type") {
        Some("text") => {
            text_field(&block.value, "text").is_some_and(|text| !text.trim().is_empty())
        }
        Some("thinking" | "redacted_thinking") => block.done,
        _ => true,
    }
}

fn stop(reason: Option<&str>, has_calls: bool) -> Stop {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
        Some("refusal") => Stop::Refused,
        Some("pause_turn") => Stop::Paused,
        _ if has_calls => Stop::Calls,
        Some("end_turn" | "stop_sequence") => Stop::End,
        Some(other) => Stop::Other(other.to_owned()),
        None => Stop::Missing,
    }
}
