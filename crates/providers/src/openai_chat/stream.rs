//! Assembles the chunks of a Chat Completions stream into one answer.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use super::parse::{Answer, CallPart, arguments, call_texts, failure_beside, native_message, part};
use super::usage::usage;
use crate::call_collector::{MAX_CALLS, field, text_field, too_many_calls};
use crate::model_turn::{CallKind, Stop, Usage};
use crate::parse_error::{ParseError, provider_error};
use crate::parse_response::{ParsedStream, RawValue};
use crate::raw_json::{self, PathStep};

/// Bytes of arguments that are parsed to see whether they are complete: enough for every real call,
/// and a bound for a server whose pieces all look complete.
const MAX_JSON_CHECKS: usize = 8_000_000;

#[derive(Default)]
struct Assembler {
    message: Map<String, Value>,
    parts: Vec<(u64, CallPart)>,
    finish: Option<String>,
    failure: Option<Stop>,
    native: bool,
    begun: bool,
    done: bool,
    /// Bytes checked so far, up to [`MAX_JSON_CHECKS`].
    looked: usize,
    usage: Option<Usage>,
    notes: Vec<String>,
}

/// `None` if no chunk belongs to Chat Completions.
pub(super) fn assemble(stream: &ParsedStream) -> Option<Answer> {
    let mut state = Assembler::default();
    for chunk in &stream.chunks {
        state.push(chunk);
    }
    if !state.begun {
        return None;
    }
    state.notes.extend(stream.broken.clone());
    let ended = state.finish.is_some() || stream.done || state.done;
    let whole = ended && stream.broken.is_none() && state.failure.is_none();
    if !whole && state.failure.is_none() {
        state.notes.push("the stream ended before the answer was complete".to_owned());
    }
    state.message.entry("role").or_insert_with(|| "assistant".into());
    state.message.entry("content").or_insert(Value::Null);
    Some(Answer {
        message: state.message,
        parts: state.parts.into_iter().map(|(_, part)| part).collect(),
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
                        self.call(call, i, raws.get(i).copied().unwrap_or_default());
                    }
                }
                ("function_call", Value::Object(call)) => self.legacy(call),
                ("tool_calls" | "function_call", _) | (_, Value::Null) => {}
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

    fn call(&mut self, delta: &Value, place: usize, raw: &str) {
        let Some(new) = part(delta.clone(), raw) else { return };
        let index = delta.get("index").and_then(Value::as_u64);
        let is_full = self.parts.len() == MAX_CALLS;
        let current = self.current(index, &new);
        match current.and_then(|at| self.parts.get_mut(at)) {
            Some((_, old)) if continues(old, &new, &mut self.looked) => {
                if extend(old, new, &mut self.looked) {
                    self.notes.push("a repeated piece of arguments was left out".to_owned());
                }
            }
            _ if is_full => {
                if self.failure.is_none() {
                    self.failure = Some(too_many_calls(MAX_CALLS, &mut self.notes));
                }
            }
            _ => {
                let mut new = new;
                new.item.shift_remove("index");
                self.parts.push((index.unwrap_or(place as u64), new));
            }
        }
    }

    /// The call that a delta may continue: the one with its index, else the one with its id, else
    /// the last one.
    fn current(&self, index: Option<u64>, new: &CallPart) -> Option<usize> {
        let by_id = |id: &str| self.parts.iter().rposition(|(_, part)| part.id() == Some(id));
        match (index, new.id()) {
            (Some(index), _) => self.parts.iter().rposition(|(i, _)| *i == index),
            (None, Some(id)) => by_id(id),
            (None, None) => self.parts.len().checked_sub(1),
        }
    }

    fn legacy(&mut self, call: &Map<String, Value>) {
        let (args, _) = arguments(call, "arguments", "");
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
        match self.parts.first_mut() {
            Some((_, old)) => old.args.push_str(&args),
            None => {
                let kind = CallKind::LegacyFunction;
                let name = name.to_owned();
                let part =
                    CallPart { item: call.clone(), name, args, is_value: false, cut: false, kind };
                self.parts.push((0, part));
            }
        }
    }
}

/// Whether a delta continues this call, or begins another one under the same index (litellm#37792).
fn continues(old: &CallPart, new: &CallPart, looked: &mut usize) -> bool {
    let same_id = match (old.id(), new.id()) {
        (Some(old), Some(new)) => old == new,
        // A late id belongs to the call that has none yet, if no arguments have arrived for it.
        (None, Some(_)) => old.args.is_empty(),
        _ => true,
    };
    let same_name = new.name.is_empty() || old.name.is_empty() || old.name == new.name;
    // A complete call after a complete call of the same name is a second call, unless only the name
    // is repeated.
    let has_more = !new.name.is_empty() && !new.args.trim().is_empty();
    let is_again = has_more && is_object(&old.args, looked);
    same_id && same_name && !is_again
}

fn is_object(text: &str, looked: &mut usize) -> bool {
    if *looked > MAX_JSON_CHECKS || !text.trim_end().ends_with('}') {
        return false;
    }
    *looked += text.len();
    raw_json::is_json(text)
}

/// Appends a delta; `true` if it only repeats a finished text.
fn extend(old: &mut CallPart, new: CallPart, looked: &mut usize) -> bool {
    if old.name.is_empty() {
        old.name = new.name;
    }
    for (key, value) in new.item {
        if key == "index" || value.is_null() || field(&value, &["arguments", "input"]).is_some() {
            continue;
        }
        let slot = old.item.entry(key).or_insert(Value::Null);
        if slot.is_null() || slot.as_str().is_some_and(str::is_empty) {
            *slot = value;
        }
    }
    old.is_value |= new.is_value;
    if old.args == new.args && is_object(&old.args, looked) {
        return true;
    }
    old.args.push_str(&new.args);
    false
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
