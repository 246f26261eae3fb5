//! A Messages body, a bare assistant message, or a list of content blocks, to a turn.
#![deny(clippy::indexing_slicing)]

use serde_json::{Value, json};

use super::stream;
use super::usage::Counters;
use crate::calls::{Added, CUT, Calls, End, Ids, broken, clone_of, replay_object, text_of};
use crate::format::Format;
use crate::parse::{Chunk, Doc};
use crate::raw;
use crate::turn::{CallKind, Extra, HostedCall, ModelCall, Stop, Turn};

/// One content block.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) value: Value,
    /// Text of the input: as it stands in the body, or the streamed pieces.
    pub(super) input: String,
    /// Whether the input was streamed as text, so that its completeness shows.
    pub(super) streamed: bool,
    /// Whether the block is complete.
    pub(super) done: bool,
}

/// An answer before its calls are judged.
pub(super) struct Answer {
    pub(super) blocks: Vec<Block>,
    pub(super) stop_reason: Option<String>,
    /// What ended the answer early, if anything did.
    pub(super) failure: Option<Stop>,
    pub(super) whole: bool,
    pub(super) counters: Counters,
    pub(super) notes: Vec<String>,
}

pub(crate) fn parse(doc: &Doc) -> Option<Turn> {
    match doc {
        Doc::Whole(chunk) => whole(chunk).map(turn),
        Doc::Stream(events) => stream::assemble(events).map(turn),
        Doc::Plain(_) => None,
    }
}

fn whole(chunk: &Chunk) -> Option<Answer> {
    let value = &chunk.value;
    let (content, raw) = match value {
        Value::Array(_) => (value, chunk.text.as_str()),
        _ => (value.get("content")?, raw::member(&chunk.text, "content").unwrap_or_default()),
    };
    let is_ours = value.is_array()
        || text_of(value, "type") == Some("message")
        || text_of(value, "role") == Some("assistant");
    let blocks = match content {
        _ if !is_ours || value.get("tool_calls").is_some() => return None,
        Value::String(text) => vec![block(json!({"type": "text", "text": text}), "")],
        Value::Array(items) if items.iter().all(is_block) => {
            let raws = raw::elements(raw).unwrap_or_default();
            let raw_at = |i: usize| raws.get(i).copied().unwrap_or_default();
            items.iter().enumerate().map(|(i, b)| block(b.clone(), raw_at(i))).collect()
        }
        _ => return None,
    };
    if value.is_array() && blocks.is_empty() {
        return None;
    }
    let mut counters = Counters::default();
    counters.add(value.get("usage"));
    Some(Answer {
        blocks,
        counters,
        stop_reason: text_of(value, "stop_reason").map(str::to_owned),
        failure: None,
        whole: true,
        notes: Vec::new(),
    })
}

/// A block of any type but those of the other formats.
fn is_block(block: &Value) -> bool {
    text_of(block, "type").is_some_and(|kind| {
        !kind.ends_with("_call") && !matches!(kind, "output_text" | "message" | "reasoning")
    })
}

fn block(value: Value, raw: &str) -> Block {
    let input = match value.get("input") {
        None | Some(Value::Null) => String::new(),
        Some(input) => raw::member(raw, "input").map_or_else(|| input.to_string(), str::to_owned),
    };
    Block { value, input, streamed: false, done: true }
}

fn turn(answer: Answer) -> Turn {
    let Answer { blocks, stop_reason, failure, whole, counters, mut notes } = answer;
    let end = match stop_reason.as_deref() {
        _ if !whole => End::Broken,
        Some("max_tokens" | "model_context_window_exceeded" | "refusal") => End::Cut,
        _ => End::Whole,
    };
    let is_call = |block: &Block| text_of(&block.value, "type") == Some("tool_use");
    let given = |block: &Block| text_of(&block.value, "id").map(str::to_owned);
    let used: Vec<_> = blocks.iter().filter(|b| is_call(b)).map(given).collect();
    let mut ids = Ids::new(used.iter().map(Option::as_deref));
    let mut calls = Calls::default();
    let (mut hosted, mut replay, mut text) = (Vec::new(), Vec::new(), String::new());
    let mut reasoning = String::new();
    let count = blocks.len();
    for (i, mut block) in blocks.into_iter().enumerate() {
        match text_of(&block.value, "type") {
            Some("tool_use") => {
                let id = ids.next(text_of(&block.value, "id"));
                if calls.add(call(&block, id.clone(), end, i + 1 == count)) == Added::Repeated {
                    continue;
                }
                put_back(&mut block, &id);
            }
            Some("text") => text.push_str(text_of(&block.value, "text").unwrap_or_default()),
            Some("thinking") => {
                reasoning.push_str(text_of(&block.value, "thinking").unwrap_or_default());
            }
            Some(kind @ ("server_tool_use" | "mcp_tool_use")) => hosted.push(HostedCall {
                id: text_of(&block.value, "id").map(str::to_owned),
                kind: kind.to_owned(),
                name: text_of(&block.value, "name").map(str::to_owned),
                item: block.value.clone(),
            }),
            _ => {}
        }
        if is_replayable(&block) {
            replay.push(block.value);
        }
    }
    notes.extend(ids.note());
    notes.append(&mut calls.notes);
    Turn {
        reasoning,
        usage: counters.usage(),
        format: Format::Anthropic,
        stop: failure.unwrap_or_else(|| stop(stop_reason.as_deref(), !calls.list.is_empty())),
        calls: calls.list,
        hosted,
        text,
        assistant: json!({"role": "assistant", "content": replay}),
        complete: end != End::Broken,
        notes,
    }
}

fn call(block: &Block, id: String, end: End, last: bool) -> ModelCall {
    let value = &block.value;
    let args = match () {
        () if end != End::Broken && !block.done => broken(CUT),
        () if block.streamed => end.text(block.input.clone(), last),
        () => end.value(block.input.clone(), last),
    };
    let extra = Extra {
        kind: CallKind::Function,
        caller: clone_of(value, "caller"),
        namespace: text_of(value, "toolset_name").map(str::to_owned),
        ..Extra::default()
    };
    let name = text_of(value, "name").unwrap_or_default().to_owned();
    ModelCall { provider_id: Some(id), name, args, extra }
}

/// Fills in what the next request needs: the id, and an input that is an object.
fn put_back(block: &mut Block, id: &str) {
    let Some(object) = block.value.as_object_mut() else { return };
    object.insert("id".to_owned(), id.into());
    if block.streamed || !object.get("input").is_some_and(Value::is_object) {
        object.insert("input".to_owned(), replay_object(&block.input));
    }
}

/// Empty texts, and thoughts whose signature never came, are refused in the next request (research/protocols 2.3).
fn is_replayable(block: &Block) -> bool {
    match text_of(&block.value, "type") {
        Some("text") => text_of(&block.value, "text").is_some_and(|text| !text.trim().is_empty()),
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
