//! Assembles the events of an OpenAI Responses stream into one answer. The item of
//! `output_item.done` is the final one.
#![deny(clippy::indexing_slicing)]

use std::collections::HashSet;

use serde_json::{Value, json};

use super::parse::{Answer, Item, call_kind, items_of, status};
use super::usage::usage;
use crate::call_collector::{
    AnswerEnd, MAX_BLOCKS, UNCLEAR_PIECES, over_limit, text_field, too_many_calls,
};
use crate::model_turn::{Stop, Usage};
use crate::parse_error::{ParseError, provider_error};
use crate::parse_response::{ParsedStream, RawValue};
use crate::raw_json::{self, PathStep};

#[derive(Default)]
struct Assembler {
    /// By output index, in order of arrival.
    items: Vec<(u64, Item)>,
    begun: bool,
    /// Sequence numbers, to detect events that a broken connection repeats or reorders.
    seen: HashSet<u64>,
    highest: u64,
    /// Whether events are missing, out of order, or contradict each other.
    swapped: bool,
    /// Content of the final event; `None` if it has not arrived.
    ended: Option<(AnswerEnd, Option<Stop>)>,
    failed: Option<Stop>,
    usage: Option<Usage>,
    notes: Vec<String>,
}

/// Assembles the answer of a stream; `None` if no event belongs to Responses.
pub(super) fn assemble(stream: &ParsedStream) -> Option<Answer> {
    let mut state = Assembler::default();
    for chunk in &stream.chunks {
        state.push(chunk);
    }
    if !state.begun || (state.failed.is_some() && state.items.is_empty()) {
        return None;
    }
    let mut notes = state.notes;
    let (end, stop) = match (state.failed, state.ended, &stream.broken) {
        (Some(stop), ..) => (AnswerEnd::Broken, Some(stop)),
        (None, Some((end, stop)), None) if !state.swapped => (end, stop),
        (None, _, reason) => {
            let words = if state.swapped {
                UNCLEAR_PIECES
            } else {
                "the stream ended before the answer was complete"
            };
            notes.push(words.to_owned());
            notes.extend(reason.clone());
            (AnswerEnd::Broken, Some(Stop::Missing))
        }
    };
    let items = state.items.into_iter().map(|(_, item)| item).collect();
    Some(Answer { items, end, stop, usage: state.usage, notes })
}

impl Assembler {
    fn push(&mut self, chunk: &RawValue) {
        let event = &chunk.value;
        let kind = text_field(event, "type").unwrap_or_default();
        let index = event.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        self.begun |= kind.starts_with("response.");
        self.usage = event.get("response").and_then(usage).or(self.usage);
        if let Some(number) = event.get("sequence_number").and_then(Value::as_u64) {
            if !self.seen.insert(number) {
                return;
            }
            self.swapped |= number < self.highest;
            self.highest = self.highest.max(number);
        }
        match kind {
            "response.output_item.added" => self.added(index, event, chunk),
            "response.output_item.done" => self.done(index, event, chunk),
            "response.function_call_arguments.delta" => self.grow(index, "arguments", event),
            "response.custom_tool_call_input.delta" => self.grow(index, "input", event),
            "response.function_call_arguments.done" => self.compare(index, "arguments", event),
            "response.custom_tool_call_input.done" => self.compare(index, "input", event),
            "response.output_text.delta" | "response.refusal.delta" => self.grow_text(index, event),
            "response.completed" | "response.incomplete" => self.end(event, chunk),
            "response.failed" | "error" => self.fail(event),
            _ if provider_error(event).is_some() => self.fail(event),
            _ => {}
        }
    }

    /// Returns the unfinished item of an event: the one with its item id, otherwise with its index.
    fn open(&mut self, index: u64, event: &Value) -> Option<&mut Value> {
        let at = self.find_open(index, text_field(event, "item_id"))?;
        self.items.get_mut(at).map(|(_, item)| &mut item.value)
    }

    /// Finds the unfinished item. Proxies generate new item ids for every event, so an unknown id
    /// is ignored.
    fn find_open(&self, index: u64, id: Option<&str>) -> Option<usize> {
        let open = |(_, item): &(u64, Item)| !item.done;
        let has_id = |entry: &(u64, Item)| {
            open(entry) && id.is_some() && text_field(&entry.1.value, "id") == id
        };
        let by_id = self.items.iter().rposition(has_id);
        by_id.or_else(|| self.items.iter().rposition(|entry| open(entry) && entry.0 == index))
    }

    fn added(&mut self, index: u64, event: &Value, chunk: &RawValue) {
        let Some(value) = event.get("item").cloned() else { return };
        let id = |item: &Value| text_field(item, "id").map(str::to_owned);
        if self.items.iter().any(|(i, item)| *i == index && id(&item.value) == id(&value)) {
            return;
        }
        self.begin(index, Item { value, raw: raw_item(chunk), done: false });
    }

    fn begin(&mut self, index: u64, item: Item) {
        if self.items.len() < MAX_BLOCKS {
            self.items.push((index, item));
        } else if self.failed.is_none() {
            self.failed = Some(too_many_calls(MAX_BLOCKS, &mut self.notes));
        }
    }

    fn done(&mut self, index: u64, event: &Value, chunk: &RawValue) {
        let Some(value) = event.get("item").cloned() else { return };
        let item = Item { value, raw: raw_item(chunk), done: true };
        let repeated = |(i, old): &(u64, Item)| *i == index && old.done && old.value == item.value;
        if self.items.iter().any(repeated) {
            self.notes.push("an output item was sent more than once; it counts once".to_owned());
            return;
        }
        let open = self.find_open(index, text_field(&item.value, "id"));
        match open.and_then(|at| self.items.get_mut(at)) {
            Some((_, open)) => {
                self.swapped |= !continues(&open.value, &item.value);
                *open = item;
            }
            None => self.begin(index, item),
        }
    }

    /// Adds a piece of a call's input. The complete item follows; a piece without its item belongs
    /// to another call.
    fn grow(&mut self, index: u64, key: &str, event: &Value) {
        let more = text_field(event, "delta").unwrap_or_default().to_owned();
        let item =
            self.open(index, event).filter(|item| text_field(item, "type") != Some("message"));
        let Some(item) = item.and_then(Value::as_object_mut) else {
            self.swapped |= !more.is_empty();
            return;
        };
        match item.get_mut(key) {
            Some(Value::String(text)) => text.push_str(&more),
            _ => {
                item.insert(key.to_owned(), more.into());
            }
        }
    }

    /// Compares the complete input of a call with the preceding pieces, and with the item if that
    /// arrived first.
    fn compare(&mut self, index: u64, key: &str, event: &Value) {
        let Some(whole) = event.get(key).and_then(Value::as_str) else { return };
        if let Some(item) = self.open(index, event).and_then(Value::as_object_mut) {
            let pieces = item.get(key).and_then(Value::as_str).unwrap_or_default();
            let differs = !pieces.is_empty() && pieces != whole;
            item.insert(key.to_owned(), whole.into());
            self.swapped |= differs;
        } else {
            let says = |(i, item): &(u64, Item)| {
                *i == index && text_field(&item.value, key).unwrap_or_default() == whole
            };
            self.swapped |= !self.items.iter().any(says);
        }
    }

    /// Collects the text of a message that may remain incomplete, so that the turn still shows it.
    fn grow_text(&mut self, index: u64, event: &Value) {
        let more = text_field(event, "delta").unwrap_or_default().to_owned();
        let Some(item) = self.open(index, event).and_then(Value::as_object_mut) else { return };
        let content = item.entry("content").or_insert_with(|| json!([]));
        let Some(parts) = content.as_array_mut() else { return };
        match parts.last_mut().and_then(|part| part.get_mut("text")) {
            Some(Value::String(text)) => text.push_str(&more),
            _ => parts.push(json!({"type": "output_text", "text": more, "annotations": []})),
        }
    }

    fn end(&mut self, event: &Value, chunk: &RawValue) {
        let response = event.get("response").unwrap_or(&Value::Null);
        let (end, stop, notes) = match text_field(event, "type") {
            Some("response.incomplete") if text_field(response, "status").is_none() => {
                (AnswerEnd::Cut, Some(Stop::Length), Vec::new())
            }
            _ => status(response),
        };
        self.notes.extend(notes);
        self.ended = Some((end, stop));
        // A proxy that drops the item events still sends the whole output here.
        let output = response.get("output").and_then(Value::as_array);
        if let (true, Some(output)) = (self.items.is_empty(), output) {
            let raw =
                raw_json::find(&chunk.text, &[PathStep::Key("response"), PathStep::Key("output")]);
            let over = over_limit(output.len(), MAX_BLOCKS, &mut self.notes);
            self.failed = self.failed.take().or(over);
            self.items = (0u64..).zip(items_of(output, raw.unwrap_or_default())).collect();
        }
    }

    fn fail(&mut self, event: &Value) {
        let inner = event.get("response").filter(|r| r.is_object()).unwrap_or(event);
        let words = match provider_error(inner) {
            Some(ParseError::Provider { kind, message }) => format!("{kind}: {message}"),
            _ => "the response failed".to_owned(),
        };
        self.notes.push(format!("the provider failed in the middle ({words})"));
        self.failed.get_or_insert(Stop::Failed(words));
    }
}

/// Returns whether a complete item matches its pieces: the same call with the same input.
fn continues(open: &Value, done: &Value) -> bool {
    let agrees = |key: &str| match (text_field(open, key), text_field(done, key)) {
        (Some(open), done) => done == Some(open),
        (None, _) => true,
    };
    call_kind(done).is_none() && call_kind(open).is_none()
        || ["call_id", "name", "arguments", "input"].into_iter().all(agrees)
}

fn raw_item(chunk: &RawValue) -> String {
    raw_json::member(&chunk.text, "item").unwrap_or_default().to_owned()
}
