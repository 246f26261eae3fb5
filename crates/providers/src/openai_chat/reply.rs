//! Renders results for Chat Completions as `tool` messages. Images go into one user message after
//! all of them, because a `tool` message cannot contain any.

use serde_json::{Value, json};

use crate::model_turn::{CallKind, ModelCall, Turn};
use crate::result_content::{self, Media};
use crate::result_messages::CallResult;
use crate::wire_format::Format;

pub(crate) fn reply(turn: &Turn, answers: &[CallResult<'_>]) -> Vec<Value> {
    let limit = result_content::limits(Format::OpenAiChat).result_chars;
    let mut messages = Vec::new();
    let mut parts = Vec::new();
    for (call, answer) in turn.calls.iter().zip(answers) {
        let media = result_content::media(answer, Format::OpenAiChat);
        let content = result_content::text_with_notes(answer, &media, limit);
        let shown: Vec<&Media<'_>> = media.iter().filter(|m| m.fits).collect();
        let mut message = message(call, content);
        if is_native(call) {
            // Ollama accepts images in the message itself.
            let images: Vec<String> = shown.iter().map(|m| m.base64()).collect();
            if let (false, Some(object)) = (images.is_empty(), message.as_object_mut()) {
                object.insert("images".to_owned(), images.into());
            }
        } else if !shown.is_empty() {
            let id = call.provider_id.as_deref().unwrap_or(&call.name);
            parts.push(json!({"type": "text", "text": format!("From the result of {id}:")}));
            parts.extend(shown.into_iter().map(part));
        }
        messages.push(message);
    }
    if !parts.is_empty() {
        messages.push(json!({"role": "user", "content": parts}));
    }
    messages
}

/// Renders results for Ollama's native API, regardless of the form of the calls: newer versions
/// send ids, and all versions need the name.
pub(crate) fn native_reply(turn: &Turn, answers: &[CallResult<'_>]) -> Vec<Value> {
    let limit = result_content::limits(Format::OpenAiChat).result_chars;
    let message = |(call, answer): (&ModelCall, &CallResult<'_>)| {
        let mut media = result_content::media(answer, Format::OpenAiChat);
        media.iter_mut().for_each(|m| m.fits &= m.is_image());
        let images: Vec<Value> =
            media.iter().filter(|m| m.fits).map(|m| m.base64().into()).collect();
        let id = call.provider_id.clone();
        result_content::members([
            ("role", "tool".into()),
            ("tool_name", call.name.as_str().into()),
            ("tool_call_id", id.map_or(Value::Null, Value::String)),
            ("content", result_content::text_with_notes(answer, &media, limit).into()),
            ("images", if images.is_empty() { Value::Null } else { images.into() }),
        ])
    };
    turn.calls.iter().zip(answers).map(message).collect()
}

/// Returns whether this is a native call of Ollama: only those have neither an id nor the legacy
/// form.
fn is_native(call: &ModelCall) -> bool {
    call.provider_id.is_none() && call.extra.kind == CallKind::Function
}

fn message(call: &ModelCall, content: String) -> Value {
    match (&call.provider_id, call.extra.kind) {
        (_, CallKind::LegacyFunction) => {
            json!({"role": "function", "name": call.name, "content": content})
        }
        (Some(id), _) => json!({"role": "tool", "tool_call_id": id, "content": content}),
        (None, _) => json!({"role": "tool", "tool_name": call.name, "content": content}),
    }
}

fn part(media: &Media<'_>) -> Value {
    if media.is_image() {
        return json!({"type": "image_url", "image_url": {"url": media.data_url()}});
    }
    let format = if media.blob.media_type.ends_with("wav") { "wav" } else { "mp3" };
    json!({"type": "input_audio", "input_audio": {"data": media.base64(), "format": format}})
}
