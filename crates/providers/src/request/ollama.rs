//! Request body of Ollama's native `/api/chat`: plain texts with separate images, arguments as
//! objects, results matched by name.

use serde_json::{Map, Value, json};
use toolcrib_core::Blob;

use super::json_body::{Body, JsonPiece, RequestInput, text_with_notes};
use super::openai_chat::{in_turns, own, system_message};
use super::render_history::{RebuiltCall, RenderedMessage};
use crate::result_content;
use crate::wire_format::Format;

pub(super) fn body<'a>(asked: &RequestInput<'a>, steps: &'a [RenderedMessage<'a>]) -> Body<'a> {
    let RequestInput { quirks, request, .. } = asked;
    let options: Map<String, Value> = [
        ("num_ctx", asked.info.requested_window.map(Value::from)),
        ("num_predict", request.max_output.map(Value::from)),
        ("temperature", asked.temperature().map(Value::from)),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key.to_owned(), value?)))
    .collect();
    let mut body = Body::new([
        ("model", Some(asked.info.model.as_str().into())),
        // Ollama's default is streaming.
        ("stream", Some(request.stream.into())),
        ("options", (!options.is_empty()).then_some(Value::Object(options))),
    ]);
    let mut messages = Vec::new();
    if !asked.system.is_empty() {
        messages.push(JsonPiece::Made(system_message(quirks.system, asked.system)));
    }
    for step in steps {
        match step {
            RenderedMessage::User { text, images, .. } => {
                messages.push(JsonPiece::Made(user(text, images, quirks.images)));
            }
            RenderedMessage::ModelText(text) => {
                messages.push(JsonPiece::Made(json!({"role": "assistant", "content": text})));
            }
            RenderedMessage::Own { message, results } => {
                messages.push(own(message, quirks.reasoning));
                messages.extend(results.iter().map(JsonPiece::Kept));
            }
            RenderedMessage::Rebuilt { text, calls, results } => {
                messages.push(JsonPiece::Made(rebuilt(text, calls)));
                messages.extend(results.iter().map(JsonPiece::Kept));
            }
        }
    }
    body.put("messages", JsonPiece::List(in_turns(messages, quirks)));
    if let Some(tools) = asked.tools {
        body.put("tools", JsonPiece::Kept(tools));
    }
    body
}

fn user(text: &str, images: &[Blob], takes_images: bool) -> Value {
    let media = result_content::user_images(images, Format::OpenAiChat, takes_images);
    let text = text_with_notes(text, &media);
    let images: Vec<Value> = media.iter().filter(|m| m.fits).map(|m| m.base64().into()).collect();
    result_content::members([
        ("role", "user".into()),
        ("content", text.into()),
        ("images", if images.is_empty() { Value::Null } else { images.into() }),
    ])
}

fn rebuilt(text: &str, calls: &[RebuiltCall]) -> Value {
    let call = |call: &RebuiltCall| json!({"id": call.id, "function": {"name": call.name, "arguments": call.args}});
    let calls: Vec<Value> = calls.iter().map(call).collect();
    json!({"role": "assistant", "content": text, "tool_calls": calls})
}
