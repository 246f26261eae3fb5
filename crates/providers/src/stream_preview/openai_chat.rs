//! Stream preview of Chat Completions chunks and Ollama lines.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use super::preview_sink::PreviewSink;
use crate::call_collector::{MAX_CALLS, text_field};
use crate::openai_chat::{native_message, reasoning};

#[derive(Debug, Default)]
pub(super) struct Reader {
    calls: Vec<OpenCall>,
    has_content: bool,
}

/// A call that has begun.
#[derive(Debug)]
struct OpenCall {
    index: Option<u64>,
    id: String,
    place: usize,
}

impl Reader {
    pub(super) fn read(
        &mut self,
        chunk: &Value,
        streamed: bool,
        out: &mut PreviewSink<'_, '_>,
    ) -> bool {
        if let Some(choices) = chunk.get("choices").and_then(Value::as_array) {
            let is_first = |c: &&Value| c.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
            let Some(choice) = choices.iter().find(is_first) else { return false };
            let whole = choice.get("delta").is_none();
            let key = if whole { "message" } else { "delta" };
            self.message(choice.get(key), out);
            if text_field(choice, "finish_reason").is_some() {
                out.flush();
            }
            return whole && !streamed;
        }
        if let Some(message) = native_message(chunk) {
            self.message(Some(message), out);
            return chunk.get("done").is_none_or(|done| *done == Value::Bool(true));
        }
        let is_bare = chunk.get("role").is_some_and(|role| role == "assistant")
            || chunk.get("tool_calls").is_some();
        if !streamed && is_bare && chunk.get("type").is_none() {
            self.message(Some(chunk), out);
            return true;
        }
        false
    }

    fn message(&mut self, message: Option<&Value>, out: &mut PreviewSink<'_, '_>) {
        let Some(Value::Object(message)) = message else { return };
        out.reasoning(&reasoning(message));
        self.calls(message, out);
        self.text(message, out);
    }

    fn text(&mut self, message: &Map<String, Value>, out: &mut PreviewSink<'_, '_>) {
        match message.get("content") {
            Some(Value::String(text)) => self.content(text, out),
            Some(Value::Array(parts)) => {
                for part in parts {
                    let text = text_field(part, "text").or_else(|| text_field(part, "refusal"));
                    self.content(text.unwrap_or_default(), out);
                }
            }
            _ => {}
        }
        // A refusal counts only if there is no content.
        let refusal = message.get("refusal").and_then(Value::as_str);
        if let (Some(refusal), false) = (refusal, self.has_content) {
            out.text(refusal);
        }
    }

    fn content(&mut self, text: &str, out: &mut PreviewSink<'_, '_>) {
        self.has_content |= !text.is_empty();
        out.text(text);
    }

    fn calls(&mut self, message: &Map<String, Value>, out: &mut PreviewSink<'_, '_>) {
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let inner = ["function", "custom"].into_iter().find_map(|key| call.get(key));
            let inner = inner.unwrap_or(call);
            let id = text_field(call, "id").unwrap_or_default();
            let index = call.get("index").and_then(Value::as_u64);
            self.call(index, id, inner, out);
        }
        if let Some(call) = message.get("function_call").filter(|call| call.is_object()) {
            self.call(Some(0), "", call, out);
        }
    }

    fn call(&mut self, index: Option<u64>, id: &str, inner: &Value, out: &mut PreviewSink<'_, '_>) {
        out.filter.native_calls();
        let name = text_field(inner, "name").unwrap_or_default();
        let is_full = self.calls.len() == MAX_CALLS;
        let continued = self.calls.iter_mut().rev().find(|seen| match index {
            Some(_) => seen.index == index,
            None => id.is_empty() || seen.id == id,
        });
        // Whole calls without index and id follow each other; under one index the id distinguishes
        // them.
        let is_other = |seen: &OpenCall| {
            (!id.is_empty() && !seen.id.is_empty() && seen.id != id)
                || (index.is_none() && id.is_empty() && !name.is_empty())
        };
        let place = match continued {
            Some(seen) if !is_other(seen) => {
                if seen.id.is_empty() {
                    id.clone_into(&mut seen.id);
                }
                seen.place
            }
            // The turn drops further calls too.
            _ if is_full => return,
            _ => {
                let place = out.call(name);
                self.calls.push(OpenCall { index, id: id.to_owned(), place });
                place
            }
        };
        let args = ["arguments", "input"].into_iter().find_map(|key| inner.get(key));
        match args {
            Some(Value::String(text)) => out.args(place, text),
            None | Some(Value::Null) => {}
            Some(value) => out.args(place, &value.to_string()),
        }
    }
}
