//! Detects the wire format of a response body by its structure.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use crate::call_collector::field;
use crate::parse_response::{ResponseBody, read};
use crate::text_tools;
use crate::wire_format::Format;

/// Returns the format of a response body; `None` if no part of it is typical of a format. That
/// includes prose without calls: pass [`Format::Text`] for it.
#[must_use]
pub fn detect(body: &[u8]) -> Option<Format> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = String::from_utf8_lossy(body);
    let doc = read(Format::Text, &text).ok();
    let by_answer = doc.as_ref().and_then(detect_document).or_else(|| detect_text(&text));
    by_answer.or_else(|| doc.as_ref().and_then(|doc| values(doc).find_map(of_error)))
}

/// Returns the format of an answer. Ignores error objects.
pub(crate) fn detect_document(doc: &ResponseBody) -> Option<Format> {
    values(doc).find_map(of_value)
}

/// Returns whether a text contains calls in the text format.
pub(crate) fn detect_text(text: &str) -> Option<Format> {
    (!text_tools::find_calls(text).is_empty()).then_some(Format::Text)
}

fn values(doc: &ResponseBody) -> impl Iterator<Item = &Value> {
    let chunks = match doc {
        ResponseBody::Whole(chunk) => std::slice::from_ref(chunk),
        ResponseBody::Stream(stream) => stream.chunks.as_slice(),
        ResponseBody::Plain(_) => &[],
    };
    chunks.iter().map(|chunk| &chunk.value)
}

fn of_value(value: &Value) -> Option<Format> {
    if let Value::Array(items) = value {
        return items.iter().find_map(of_item);
    }
    let has = |name: &str| field(value, &[name]).is_some();
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    if value.get("choices").is_some_and(Value::is_array) {
        return Some(Format::OpenAiChat);
    }
    if value.get("object").is_some_and(|o| o == "response") || kind.starts_with("response.") {
        return Some(Format::OpenAiResponses);
    }
    if value.get("candidates").is_some_and(Value::is_array) || has("promptFeedback") {
        return Some(Format::Gemini);
    }
    if value.get("output").and_then(Value::as_array).is_some_and(|o| o.iter().any(is_item)) {
        return Some(Format::OpenAiResponses);
    }
    if kind == "message" && has_output_text(value) {
        return Some(Format::OpenAiResponses);
    }
    if is_anthropic_event(kind) {
        return Some(Format::Anthropic);
    }
    // Ollama: the message is next to its counters.
    if value.get("message").is_some_and(Value::is_object) && has("done") {
        return Some(Format::OpenAiChat);
    }
    if kind.ends_with("_call") && has("call_id") {
        return Some(Format::OpenAiResponses);
    }
    of_message(value)
}

fn of_message(value: &Value) -> Option<Format> {
    let role = value.get("role").and_then(Value::as_str).unwrap_or_default();
    let blocks = value.get("content").and_then(Value::as_array);
    if value.get("parts").is_some_and(Value::is_array) && matches!(role, "model" | "") {
        return Some(Format::Gemini);
    }
    if role != "assistant" {
        return None;
    }
    if blocks.is_some_and(|b| b.iter().any(is_block)) && value.get("tool_calls").is_none() {
        return Some(Format::Anthropic);
    }
    (value.get("tool_calls").is_some() || value.get("content").is_some())
        .then_some(Format::OpenAiChat)
}

fn of_item(item: &Value) -> Option<Format> {
    match () {
        () if is_item(item) => Some(Format::OpenAiResponses),
        () if is_block(item) => Some(Format::Anthropic),
        () => of_value(item).filter(|_| !item.is_array()),
    }
}

fn kind_of(value: &Value) -> &str {
    value.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn is_item(item: &Value) -> bool {
    let kind = kind_of(item);
    kind.ends_with("_call") || matches!(kind, "message" | "reasoning" | "program")
}

fn is_block(block: &Value) -> bool {
    matches!(
        kind_of(block),
        "text" | "tool_use" | "thinking" | "redacted_thinking" | "server_tool_use"
    )
}

/// Returns whether the message has text in the form of Responses, whose output items are "messages"
/// too.
fn has_output_text(message: &Value) -> bool {
    let parts = message.get("content").and_then(Value::as_array);
    parts.is_some_and(|parts| parts.iter().any(|part| kind_of(part) == "output_text"))
}

fn is_anthropic_event(kind: &str) -> bool {
    matches!(
        kind,
        "message"
            | "message_start"
            | "message_delta"
            | "message_stop"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
    )
}

/// Returns the format of an error object: each provider has its own.
fn of_error(value: &Value) -> Option<Format> {
    let error = value.get("error")?;
    match () {
        () if kind_of(value) == "error" => Some(Format::Anthropic),
        () if error.get("status").is_some() => Some(Format::Gemini),
        () if error.get("message").is_some() => Some(Format::OpenAiChat),
        () => None,
    }
}
