//! Request body of Gemini `generateContent`: contents of parts. The model and the streaming flag
//! are in the URL.

use serde_json::{Map, Value, json};
use toolcrib_core::Blob;

use super::anthropic::OMITTED_NOTE;
use super::json_body::{Body, JsonPiece, RequestInput, text_with_notes};
use super::render_history::{RebuiltCall, RenderedMessage};
use crate::json_object::object;
use crate::result_content;
use crate::wire_format::Format;

/// Placeholder that Gemini accepts instead of a thought signature, for calls that this model did
/// not make.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) fn body<'a>(asked: &RequestInput<'a>, steps: &'a [RenderedMessage<'a>]) -> Body<'a> {
    let config: Map<String, Value> = [
        ("temperature", asked.temperature().map(Value::from)),
        ("maxOutputTokens", asked.request.max_output.map(Value::from)),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key.to_owned(), value?)))
    .collect();
    let system = Some(asked.system).filter(|system| !system.is_empty());
    let mut body = Body::new([
        ("systemInstruction", system.map(|system| json!({"parts": [{"text": system}]}))),
        ("generationConfig", (!config.is_empty()).then_some(Value::Object(config))),
    ]);
    let mut contents = Vec::new();
    if !matches!(steps.first(), Some(RenderedMessage::User { .. }) | None) {
        contents.push(JsonPiece::Made(json!({"role": "user", "parts": [{"text": OMITTED_NOTE}]})));
    }
    for step in steps {
        match step {
            RenderedMessage::User { text, images, .. } => {
                contents.push(JsonPiece::Made(user(text, images, asked.quirks.images)));
            }
            RenderedMessage::ModelText(text) => {
                contents.push(JsonPiece::Made(json!({"role": "model", "parts": [{"text": text}]})));
            }
            RenderedMessage::Own { message, results } => {
                contents.push(JsonPiece::Kept(&message.turn.assistant));
                contents.extend(results.iter().map(JsonPiece::Kept));
            }
            RenderedMessage::Rebuilt { text, calls, results } => {
                contents.push(JsonPiece::Made(rebuilt(text, calls)));
                contents.extend(results.iter().map(JsonPiece::Kept));
            }
        }
    }
    body.put("contents", JsonPiece::List(contents));
    if let Some(tools) = asked.tools {
        body.put("tools", JsonPiece::Kept(tools));
    }
    body
}

fn user(text: &str, images: &[Blob], takes_images: bool) -> Value {
    let media = result_content::user_images(images, Format::Gemini, takes_images);
    let text = text_with_notes(text, &media);
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(json!({"text": text}));
    }
    for media in media.iter().filter(|m| m.fits) {
        let data = object([
            ("mimeType", media.blob.media_type.as_str().into()),
            ("data", media.base64().into()),
        ]);
        parts.push(object([("inlineData", data.into())]).into());
    }
    object([("role", "user".into()), ("parts", parts.into())]).into()
}

/// Renders a rebuilt turn. Only the first call of a step has a signature.
fn rebuilt(text: &str, calls: &[RebuiltCall]) -> Value {
    let said = (!text.is_empty()).then(|| json!({"text": text}));
    let calls = calls.iter().enumerate().map(|(i, call)| {
        let call = json!({"name": call.name, "args": call.args});
        if i == 0 {
            json!({"functionCall": call, "thoughtSignature": NO_SIGNATURE})
        } else {
            json!({"functionCall": call})
        }
    });
    json!({"role": "model", "parts": said.into_iter().chain(calls).collect::<Vec<_>>()})
}
