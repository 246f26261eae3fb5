//! Stream preview of Gemini chunks: each is a complete response object.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use super::preview_sink::PreviewSink;
use crate::call_collector::{field, text_field};
use crate::gemini::{call_key, hosted_key};

#[derive(Debug)]
pub(super) struct Reader;

impl Reader {
    pub(super) fn read(
        &mut self,
        chunk: &Value,
        streamed: bool,
        out: &mut PreviewSink<'_, '_>,
    ) -> bool {
        let candidates = chunk.get("candidates").and_then(Value::as_array);
        let Some(candidates) = candidates else {
            parts(chunk, out);
            return !streamed && chunk.get("parts").is_some();
        };
        let Some(first) = candidates.first() else { return false };
        if let Some(content) = first.get("content") {
            parts(content, out);
        }
        if field(first, &["finishReason", "finish_reason"]).is_some() {
            out.flush();
        }
        false
    }
}

fn parts(content: &Value, out: &mut PreviewSink<'_, '_>) {
    for part in content.get("parts").and_then(Value::as_array).into_iter().flatten() {
        let text = text_field(part, "text").unwrap_or_default();
        if let Some(call) = call_key(part).and_then(|key| part.get(key)) {
            let place = out.call(text_field(call, "name").unwrap_or_default());
            if let Some(args) = field(call, &["args"]) {
                out.args(place, &args.to_string());
            }
        } else if let Some(kind) = hosted_key(part) {
            out.hosted(kind);
        } else if part.get("thought") == Some(&Value::Bool(true)) {
            out.reasoning(text);
        } else {
            out.text(text);
        }
    }
}
