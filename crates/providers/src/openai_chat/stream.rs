//! Assembles the chunks of a Chat Completions stream into one answer.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use super::call_pieces::CallPieces;
use super::parse::{Answer, call_texts, failure_beside, native_message};
use super::usage::usage;
use crate::call_collector::{MAX_CALLS, UNCLEAR_PIECES, text_field, too_many_calls};
use crate::model_turn::{Stop, Usage};
use crate::parse_error::{ParseError, provider_error};
use crate::parse_response::{ParsedStream, RawValue};
use crate::raw_json::{self, PathStep};

#[derive(Default)]
struct Assembler {
    message: Map<String, Value>,
    calls: CallPieces,
    finish: Option<String>,
    failure: Option<Stop>,
    native: bool,
    begun: bool,
    done: bool,
    usage: Option<Usage>,
    notes: Vec<String>,
}

/// Assembles the answer of a stream; `None` if no chunk belongs to Chat Completions.
pub(super) fn assemble(stream: &ParsedStream) -> Option<Answer> {
    let mut state = Assembler::default();
    for chunk in &stream.chunks {
        state.push(chunk);
    }
    if !state.begun {
        return None;
    }
    state.notes.extend(stream.broken.clone());
    if state.calls.repeated {
        state.notes.push("a repeated piece of arguments was left out".to_owned());
    }
    if state.calls.too_many && state.failure.is_none() {
        state.failure = Some(too_many_calls(MAX_CALLS, &mut state.notes));
    }
    let ended = state.finish.is_some() || stream.done || state.done;
    let (parts, joined) = state.calls.finish();
    let whole = ended && joined && stream.broken.is_none() && state.failure.is_none();
    if !joined {
        state.notes.push(UNCLEAR_PIECES.to_owned());
    } else if !whole && state.failure.is_none() {
        state.notes.push("the stream ended before the answer was complete".to_owned());
    }
    state.message.entry("role").or_insert_with(|| "assistant".into());
    state.message.entry("content").or_insert(Value::Null);
    Some(Answer {
        message: state.message,
        parts,
        finish: state.finish,
        failure: state.failure,
        whole,
        streamed: true,
        native: state.native,
        usage: state.usage,
        notes: state.notes,
    })
}

impl Assembler {
    fn push(&mut self, chunk: &RawValue) {
        let value = &chunk.value;
        // Some servers send running totals in every chunk.
        self.usage = usage(value).or(self.usage);
        if let Some(choices) = value.get("choices").and_then(Value::as_array) {
            self.begun = true;
            if let Some(failure) = failure_beside(value, &mut self.notes) {
                self.failure.get_or_insert(failure);
            }
            // The last chunk, with the usage, has no choice.
            let first = choices
                .iter()
                .enumerate()
                .find(|(_, c)| c.get("index").and_then(Value::as_u64).unwrap_or(0) == 0);
            if let Some((at, choice)) = first {
                let key = if choice.get("delta").is_some() { "delta" } else { "message" };
                let place = [PathStep::Key("choices"), PathStep::Index(at), PathStep::Key(key)];
                let raw = raw_json::find(&chunk.text, &place).unwrap_or_default();
                self.delta(choice.get(key), raw);
                self.finish_with(text_field(choice, "finish_reason"));
            }
        } else if let Some(message) = native_message(value) {
            self.begun = true;
            self.native = true;
            let raw = raw_json::member(&chunk.text, "message").unwrap_or_default();
            self.delta(Some(message), raw);
            self.finish_with(text_field(value, "done_reason"));
            self.done |= value.get("done").is_some_and(|done| *done == Value::Bool(true));
        } else if let Some(ParseError::Provider { kind, message }) = provider_error(value) {
            // Before the answer began (`begun` is false) the caller returns it as an error.
            self.notes.push(format!("the provider failed in the middle ({kind}): {message}"));
            self.failure.get_or_insert(Stop::Failed(message));
        }
    }

    fn finish_with(&mut self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.finish = Some(reason.to_owned());
        }
    }

    fn delta(&mut self, delta: Option<&Value>, raw: &str) {
        let Some(Value::Object(delta)) = delta else { return };
        for (key, value) in delta {
            match (key.as_str(), value) {
                ("tool_calls", Value::Array(calls)) => {
                    let raws = call_texts(raw);
                    for (i, call) in calls.iter().enumerate() {
                        self.calls.push(call, raws.get(i).copied().unwrap_or_default());
                    }
                }
                ("function_call", Value::Object(call)) => self.calls.push_legacy(call),
                (_, Value::Null) => {}
                ("tool_calls" | "function_call", _) => self.calls.push_unreadable(),
                (_, value) => self.member(key, value),
            }
        }
    }

    /// Concatenates texts and lists; keeps the first value of anything else.
    fn member(&mut self, key: &str, value: &Value) {
        match (self.message.get_mut(key), value) {
            (Some(Value::String(_)), _) if key == "role" => {}
            (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
            (Some(Value::Array(items)), Value::Array(more)) if key == "reasoning_details" => {
                more.iter().for_each(|detail| add_detail(items, detail));
            }
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more.iter().cloned()),
            (Some(_), _) => {}
            (None, value) => {
                self.message.insert(key.to_owned(), value.clone());
            }
        }
    }
}

/// Joins the deltas of one reasoning block: OpenRouter requires complete blocks in the next
/// request.
fn add_detail(details: &mut Vec<Value>, new: &Value) {
    let same = |old: &Value| {
        ["type", "index"].iter().all(|key| old.get(key) == new.get(key))
            && new.get("index").is_some()
    };
    let last = details.last_mut().filter(|last| same(last)).and_then(Value::as_object_mut);
    let (Some(old), Some(new_members)) = (last, new.as_object()) else {
        details.push(new.clone());
        return;
    };
    for (key, value) in new_members {
        match (old.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more))
                if matches!(key.as_str(), "text" | "summary" | "data") =>
            {
                text.push_str(more);
            }
            (None | Some(Value::Null), _) => {
                old.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
}
