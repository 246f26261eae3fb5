//! Assembles the events of an Anthropic Messages stream into one answer.
#![deny(clippy::indexing_slicing)]

use serde_json::{Value, json};

use super::parse::{Answer, Block};
use super::usage::Counters;
use crate::call_collector::{MAX_BLOCKS, UNCLEAR_PIECES, text_field, too_many_calls};
use crate::model_turn::Stop;
use crate::parse_error::{ParseError, provider_error};
use crate::parse_response::{ParsedStream, RawValue};
use crate::raw_json::{self, PathStep};

#[derive(Default)]
struct Assembler {
    /// Blocks by index; a proxy may omit the index of an answer with one block at a time.
    blocks: Vec<(Option<u64>, Block)>,
    stop_reason: Option<String>,
    begun: bool,
    stopped: bool,
    /// Whether a delta arrived without its block: an event was lost or out of order.
    stray: bool,
    failure: Option<Stop>,
    counters: Counters,
    notes: Vec<String>,
}

/// Assembles the answer of a stream; `None` if no event belongs to Messages.
pub(super) fn assemble(stream: &ParsedStream) -> Option<Answer> {
    let mut state = Assembler::default();
    for chunk in &stream.chunks {
        state.push(chunk);
    }
    if !state.begun {
        return None;
    }
    let whole = state.stopped && !state.stray && state.failure.is_none() && stream.broken.is_none();
    state.notes.extend(stream.broken.clone());
    if state.stray {
        state.notes.push(UNCLEAR_PIECES.to_owned());
    } else if !whole && state.failure.is_none() {
        state.notes.push("the stream ended before the answer was complete".to_owned());
    }
    Some(Answer {
        blocks: state.blocks.into_iter().map(|(_, block)| block).collect(),
        stop_reason: state.stop_reason,
        failure: state.failure,
        whole,
        counters: state.counters,
        notes: state.notes,
    })
}

impl Assembler {
    fn push(&mut self, chunk: &RawValue) {
        let event = &chunk.value;
        let index = event.get("index").and_then(Value::as_u64);
        match text_field(event, "type") {
            Some("message_start") => {
                // A second message would continue the blocks of the first one.
                self.stray |= !self.blocks.is_empty();
                self.begun = true;
                self.counters.add(event.get("message").and_then(|m| m.get("usage")));
            }
            Some("content_block_start") => self.start(index, event, chunk),
            Some("content_block_delta") => self.delta(index, event),
            Some("content_block_stop") => self.stop(index),
            Some("message_delta") => {
                self.counters.add(event.get("usage"));
                let reason = event.get("delta").and_then(|d| text_field(d, "stop_reason"));
                if let Some(reason) = reason {
                    self.stop_reason = Some(reason.to_owned());
                }
            }
            Some("message_stop") => self.stopped = true,
            _ => {
                if let Some(ParseError::Provider { kind, message }) = provider_error(event) {
                    self.notes
                        .push(format!("the provider failed in the middle ({kind}): {message}"));
                    self.failure.get_or_insert(Stop::Failed(message));
                }
            }
        }
    }

    fn start(&mut self, index: Option<u64>, event: &Value, chunk: &RawValue) {
        let Some(value) = event.get("content_block").cloned() else {
            self.stray = true;
            return;
        };
        self.begun = true;
        if let Some((_, open)) = self.blocks.iter().find(|(i, block)| *i == index && !block.done) {
            // A start of the same block is a repetition, another one an error. Blocks without
            // an index could be mixed up.
            let same = |key| text_field(&open.value, key) == text_field(&value, key);
            self.stray |= index.is_none() || !["type", "id", "name"].into_iter().all(same);
            return;
        }
        if self.blocks.len() == MAX_BLOCKS {
            if self.failure.is_none() {
                self.failure = Some(too_many_calls(MAX_BLOCKS, &mut self.notes));
            }
            return;
        }
        // Servers that do not stream inputs send the whole input here.
        let given = value.get("input").and_then(Value::as_object).is_some_and(|i| !i.is_empty());
        let place = [PathStep::Key("content_block"), PathStep::Key("input")];
        let input = raw_json::find(&chunk.text, &place).filter(|_| given).unwrap_or_default();
        let block = Block { value, input: input.to_owned(), streamed: !given, done: false };
        self.blocks.push((index, block));
    }

    fn delta(&mut self, index: Option<u64>, event: &Value) {
        let open = self.blocks.iter_mut().rev().find(|(i, block)| *i == index && !block.done);
        let (Some((_, block)), Some(delta)) = (open, event.get("delta")) else {
            self.stray = true;
            return;
        };
        let kind = text_field(delta, "type");
        // A piece in a block of another type belongs to an unknown block.
        let for_call = match kind {
            Some("input_json_delta") => true,
            Some("text_delta" | "thinking_delta" | "signature_delta" | "citations_delta") => false,
            _ => return,
        };
        if for_call != is_call(&block.value) {
            self.stray = true;
            return;
        }
        match kind {
            Some("input_json_delta") => {
                let piece = text_field(delta, "partial_json").unwrap_or_default();
                if !block.streamed && !piece.is_empty() {
                    block.streamed = true;
                    block.input.clear();
                }
                block.input.push_str(piece);
            }
            Some("text_delta") => grow(&mut block.value, "text", delta),
            Some("thinking_delta") => grow(&mut block.value, "thinking", delta),
            Some("signature_delta") => grow(&mut block.value, "signature", delta),
            Some("citations_delta") => {
                if let (Some(object), Some(citation)) =
                    (block.value.as_object_mut(), delta.get("citation"))
                {
                    let list = object.entry("citations").or_insert_with(|| json!([]));
                    if !list.is_array() {
                        *list = json!([]);
                    }
                    list.as_array_mut().into_iter().for_each(|l| l.push(citation.clone()));
                }
            }
            _ => {}
        }
    }

    fn stop(&mut self, index: Option<u64>) {
        match self.blocks.iter_mut().rev().find(|(i, _)| *i == index) {
            Some((_, block)) => {
                block.done = true;
                // The input of a hosted call is streamed like any other.
                if let (true, true, Some(object)) =
                    (is_call(&block.value), block.streamed, block.value.as_object_mut())
                {
                    let input = crate::call_collector::replay_object(&block.input);
                    object.insert("input".to_owned(), input);
                }
            }
            None => self.stray = true,
        }
    }
}

/// Returns whether the block has an input, which is streamed as text: a call, hosted calls
/// included.
fn is_call(block: &Value) -> bool {
    text_field(block, "type").is_some_and(|kind| kind.ends_with("tool_use"))
}

fn grow(block: &mut Value, key: &str, delta: &Value) {
    let Some(object) = block.as_object_mut() else { return };
    let more = delta.get(key).and_then(Value::as_str).unwrap_or_default();
    match object.get_mut(key) {
        Some(Value::String(text)) => text.push_str(more),
        _ => {
            object.insert(key.to_owned(), more.into());
        }
    }
}
