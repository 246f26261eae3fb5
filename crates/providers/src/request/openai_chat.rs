//! Request body of OpenAI Chat Completions and compatible servers.

use serde_json::{Map, Value, json};
use toolcrib_core::Blob;

use super::anthropic::OMITTED_NOTE;
use super::json_body::{Body, JsonPiece, PatchedObject, RequestInput, text_with_notes};
use super::render_history::{RebuiltCall, RenderedMessage};
use crate::conversation::ModelMessage;
use crate::json_object::object;
use crate::quirks::{OutputCap, Quirks, ReasoningReplay, SystemRole};
use crate::result_content;
use crate::wire_format::Format;

pub(super) fn body<'a>(asked: &RequestInput<'a>, steps: &'a [RenderedMessage<'a>]) -> Body<'a> {
    let RequestInput { quirks, request, .. } = asked;
    let cap = request.max_output.map(Value::from);
    let (max_tokens, max_completion) = match quirks.output_cap {
        OutputCap::MaxTokens => (cap, None),
        OutputCap::MaxCompletionTokens => (None, cap),
    };
    let wants_usage = request.stream && quirks.stream_usage;
    let parallel = quirks.parallel_tool_calls.filter(|_| asked.tools.is_some());
    let mut body = Body::new([
        ("model", Some(asked.info.model.as_str().into())),
        ("max_tokens", max_tokens),
        ("max_completion_tokens", max_completion),
        ("temperature", asked.temperature().map(Value::from)),
        ("stream", Some(request.stream.into())),
        ("stream_options", wants_usage.then(|| json!({"include_usage": true}))),
        ("parallel_tool_calls", parallel.map(Value::Bool)),
    ]);
    let mut messages = Messages { quirks, list: Vec::new() };
    messages.system(asked.system);
    for step in steps {
        messages.step(step);
    }
    body.put("messages", JsonPiece::List(in_turns(messages.list, quirks)));
    if let Some(tools) = asked.tools {
        body.put("tools", JsonPiece::Kept(tools));
    }
    body
}

/// Returns the message with the system prompt.
pub(super) fn system_message(role: SystemRole, system: &str) -> Value {
    let role = match role {
        SystemRole::System => "system",
        SystemRole::Developer => "developer",
        SystemRole::User => "user",
    };
    json!({"role": role, "content": system})
}

struct Messages<'a> {
    quirks: &'a Quirks,
    list: Vec<JsonPiece<'a>>,
}

impl<'a> Messages<'a> {
    fn system(&mut self, system: &str) {
        if !system.is_empty() {
            self.list.push(JsonPiece::Made(system_message(self.quirks.system, system)));
        }
    }

    fn step(&mut self, step: &'a RenderedMessage<'a>) {
        match step {
            RenderedMessage::User { text, images, .. } => {
                self.made(user(text, images, self.quirks));
            }
            RenderedMessage::ModelText(text) => {
                self.made(json!({"role": "assistant", "content": text}));
            }
            RenderedMessage::Own { message, results } => {
                self.list.push(own(message, self.quirks.reasoning));
                self.results(results);
            }
            RenderedMessage::Rebuilt { text, calls, results } => {
                self.made(rebuilt(text, calls, self.quirks.reasoning));
                self.results(results);
            }
        }
    }

    fn results(&mut self, results: &'a [Value]) {
        for result in results {
            // Images of results are sent in a separate user message.
            if !self.quirks.images && result.get("role").is_some_and(|role| role == "user") {
                self.made(without_pictures(result));
            } else {
                self.list.push(JsonPiece::Kept(result));
            }
        }
    }

    fn made(&mut self, message: Value) {
        self.list.push(JsonPiece::Made(message));
    }
}

/// Merges adjacent messages for templates that require alternating roles and the user first. Such
/// models are small and local, so copying the messages is cheap.
pub(super) fn in_turns<'a>(list: Vec<JsonPiece<'a>>, quirks: &Quirks) -> Vec<JsonPiece<'a>> {
    if !quirks.alternate {
        return list;
    }
    let mut turns: Vec<Value> = Vec::with_capacity(list.len());
    for piece in &list {
        let message = serde_json::to_value(piece).unwrap_or_default();
        let role = role(&message);
        let is_first =
            turns.last().is_none_or(|last| matches!(self::role(last), "system" | "developer"));
        if role == "assistant" && is_first {
            turns.push(json!({"role": "user", "content": OMITTED_NOTE}));
        }
        match turns.last_mut().filter(|last| role != "tool" && self::role(last) == role) {
            Some(last) => join(last, message),
            None => turns.push(message),
        }
    }
    turns.into_iter().map(JsonPiece::Made).collect()
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// Appends a message of the same role.
fn join(last: &mut Value, message: Value) {
    let (Some(last), Value::Object(message)) = (last.as_object_mut(), message) else { return };
    for (key, more) in message {
        let old = last.get_mut(&key).map(Value::take).unwrap_or_default();
        let both = match (key.as_str(), old, more) {
            (_, Value::Null, value) | (_, value, Value::Null) => value,
            ("content", Value::String(old), Value::String(new)) => format!("{old}\n\n{new}").into(),
            ("content", old, new) => [parts(old), parts(new)].concat().into(),
            // Ollama's images.
            (_, Value::Array(old), Value::Array(new)) => [old, new].concat().into(),
            (_, old, _) => old,
        };
        last.insert(key, both);
    }
}

fn parts(content: Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts,
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    }
}

fn user(text: &str, images: &[Blob], quirks: &Quirks) -> Value {
    let media = result_content::user_images(images, Format::OpenAiChat, quirks.images);
    let text = text_with_notes(text, &media);
    if media.iter().all(|m| !m.fits) {
        return object([("role", "user".into()), ("content", text.into())]).into();
    }
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(json!({"type": "text", "text": text}));
    }
    for media in media.iter().filter(|m| m.fits) {
        let url = object([("url", media.data_url().into())]);
        parts.push(object([("type", "image_url".into()), ("image_url", url.into())]).into());
    }
    object([("role", "user".into()), ("content", parts.into())]).into()
}

const UNSEEN: &str = "[a picture or sound: not shown, because this model takes none]";

/// Replaces images by a note for a model that accepts none.
fn without_pictures(message: &Value) -> Value {
    let parts = message.get("content").and_then(Value::as_array);
    let words: Vec<&str> = parts
        .into_iter()
        .flatten()
        .map(|part| part.get("text").and_then(Value::as_str).unwrap_or(UNSEEN))
        .collect();
    json!({"role": "user", "content": words.join("\n")})
}

/// Returns whether a member of an assistant message contains reasoning, in any server's spelling.
fn is_reasoning(key: &str) -> bool {
    matches!(key, "reasoning_content" | "reasoning" | "reasoning_details" | "thinking")
}

/// Returns whether a member is sent: not nulls, which some servers reject, nor `annotations`, which
/// are for display.
fn is_sent(key: &str, value: &Value) -> bool {
    key == "content" || !(value.is_null() || key == "annotations")
}

/// Returns the model's own message, with as much of its reasoning as the server accepts.
pub(super) fn own(message: &ModelMessage, replay: ReasoningReplay) -> JsonPiece<'_> {
    let turn = &message.turn;
    let Some(object) = turn.assistant.as_object() else { return JsonPiece::Kept(&turn.assistant) };
    let without: fn(&str, &Value) -> bool = |key, value| is_sent(key, value) && !is_reasoning(key);
    let (keep, add) = match replay {
        ReasoningReplay::AsItCame => (is_sent as fn(&str, &Value) -> bool, None),
        ReasoningReplay::Never => (without, None),
        ReasoningReplay::ReasoningContent if turn.calls.is_empty() => (without, None),
        ReasoningReplay::ReasoningContent => {
            (without, Some(("reasoning_content", turn.reasoning.as_str().into())))
        }
    };
    JsonPiece::Changed(PatchedObject { object, keep, add })
}

fn rebuilt(text: &str, calls: &[RebuiltCall], replay: ReasoningReplay) -> Value {
    let call = |call: &RebuiltCall| {
        json!({
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.args.to_string()},
        })
    };
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    let text = if text.is_empty() { Value::Null } else { text.into() };
    message.insert("content".to_owned(), text);
    if replay == ReasoningReplay::ReasoningContent {
        message.insert("reasoning_content".to_owned(), "".into());
    }
    message.insert("tool_calls".to_owned(), calls.iter().map(call).collect());
    message.into()
}
