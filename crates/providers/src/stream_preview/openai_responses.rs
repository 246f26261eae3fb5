//! Stream preview of OpenAI Responses events.
#![deny(clippy::indexing_slicing)]

use std::collections::HashSet;

use serde_json::Value;

use super::preview_sink::PreviewSink;
use crate::call_collector::{MAX_BLOCKS, text_field};
use crate::openai_responses::{call_kind, is_hosted, message_text, reasoning_text};

#[derive(Debug, Default)]
pub(super) struct Reader {
    items: Vec<OpenItem>,
    /// Sequence numbers, because a broken connection repeats events.
    numbers: HashSet<u64>,
    has_reasoning: bool,
}

/// An output item that has begun.
#[derive(Debug)]
struct OpenItem {
    index: u64,
    /// Its text, arguments or reasoning as shown so far.
    shown: String,
    call: Option<usize>,
    /// Summary part that was shown last.
    part: Option<u64>,
    done: bool,
}

impl Reader {
    pub(super) fn read(&mut self, event: &Value, out: &mut PreviewSink<'_, '_>) -> bool {
        if let Some(number) = event.get("sequence_number").and_then(Value::as_u64)
            && !self.numbers.insert(number)
        {
            return false;
        }
        let index = event.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let delta = text_field(event, "delta").unwrap_or_default();
        match text_field(event, "type").unwrap_or_default() {
            "response.output_item.added" => self.added(index, event.get("item"), out),
            "response.output_item.done" => self.done(index, event.get("item"), out),
            "response.output_text.delta" | "response.refusal.delta" => {
                if let Some(seen) = self.open(index) {
                    seen.shown.push_str(delta);
                    out.text(delta);
                }
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                if let Some(seen) = self.open(index) {
                    seen.shown.push_str(delta);
                    if let Some(place) = seen.call {
                        out.args(place, delta);
                    }
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let part = ["summary_index", "content_index"]
                    .into_iter()
                    .find_map(|key| event.get(key).and_then(Value::as_u64));
                self.reasoning(index, part.unwrap_or(0), delta, out);
            }
            "response.completed" | "response.incomplete" => {
                self.whole(event.get("response"), out);
                return true;
            }
            "response.failed" | "error" => return true,
            "" => {
                self.whole(Some(event), out);
                return event.get("output").is_some();
            }
            // A bare list of items.
            _ if event.get("item").is_none() && event.get("delta").is_none() => {
                self.done(self.items.len() as u64, Some(event), out);
            }
            _ => {}
        }
        false
    }

    /// Shows output that arrived without item events.
    fn whole(&mut self, response: Option<&Value>, out: &mut PreviewSink<'_, '_>) {
        let output = response.and_then(|r| r.get("output")).and_then(Value::as_array);
        if self.items.is_empty() {
            for (index, item) in (0u64..).zip(output.into_iter().flatten()) {
                self.done(index, Some(item), out);
            }
        }
    }

    fn open(&mut self, index: u64) -> Option<&mut OpenItem> {
        self.items.iter_mut().rev().find(|seen| seen.index == index && !seen.done)
    }

    fn added(&mut self, index: u64, item: Option<&Value>, out: &mut PreviewSink<'_, '_>) {
        if self.items.len() == MAX_BLOCKS {
            return;
        }
        if let (Some(item), None) = (item, self.open(index)) {
            let call = begin(item, out);
            let shown = String::new();
            self.items.push(OpenItem { index, shown, call, part: None, done: false });
        }
    }

    /// Shows the part of a finished item that its deltas did not contain.
    fn done(&mut self, index: u64, item: Option<&Value>, out: &mut PreviewSink<'_, '_>) {
        let Some(item) = item else { return };
        if self.open(index).is_none() && self.items.iter().any(|seen| seen.index == index) {
            return;
        }
        self.added(index, Some(item), out);
        let has_reasoning = self.has_reasoning;
        let Some(seen) = self.open(index) else { return };
        seen.done = true;
        let call = seen.call;
        let shown = std::mem::take(&mut seen.shown);
        match (call, text_field(item, "type")) {
            (Some(place), _) if shown.is_empty() => out.args(place, &arguments(item)),
            (None, Some("message")) => {
                let text = message_text(item);
                out.text(text.strip_prefix(shown.as_str()).unwrap_or_default());
            }
            (None, Some("reasoning")) => {
                let text = reasoning_text(item);
                let rest = text.strip_prefix(shown.as_str()).unwrap_or_default();
                if has_reasoning && shown.is_empty() && !rest.is_empty() {
                    out.reasoning("\n\n");
                }
                out.reasoning(rest);
                self.has_reasoning |= !text.is_empty();
            }
            _ => {}
        }
    }

    /// Shows reasoning; the parts of a summary become paragraphs.
    fn reasoning(&mut self, index: u64, part: u64, delta: &str, out: &mut PreviewSink<'_, '_>) {
        let has_reasoning = self.has_reasoning;
        let Some(seen) = self.open(index) else { return };
        if seen.part != Some(part) && !delta.is_empty() {
            if has_reasoning {
                out.reasoning("\n\n");
            }
            if seen.part.is_some() {
                seen.shown.push_str("\n\n");
            }
            seen.part = Some(part);
        }
        seen.shown.push_str(delta);
        out.reasoning(delta);
        self.has_reasoning |= !delta.is_empty();
    }
}

fn begin(item: &Value, out: &mut PreviewSink<'_, '_>) -> Option<usize> {
    let kind = text_field(item, "type").unwrap_or_default();
    if call_kind(item).is_some() {
        return Some(out.call(text_field(item, "name").unwrap_or(kind)));
    }
    if is_hosted(kind) {
        out.hosted(kind);
    }
    None
}

fn arguments(item: &Value) -> String {
    let keys = ["arguments", "input", "action", "actions", "operation"];
    match keys.into_iter().find_map(|key| item.get(key)) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(value) => value.to_string(),
    }
}
