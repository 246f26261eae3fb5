//! The body of Gemini `generateContent`: contents of parts; the model and streaming are in the address.

use serde_json::{Map, Value, json};
use toolcrib_core::Blob;

use super::anthropic::EARLIER;
use super::body::{Asked, Body, Piece, text_with_notes};
use super::history::{RebuiltCall, Step};
use crate::declare::object;
use crate::format::Format;
use crate::wire;

/// Stands for the signature of a thought that this model never had (research/protocols 2.4).
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) fn body<'a>(asked: &Asked<'a>, steps: &'a [Step<'a>]) -> Body<'a> {
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
    if !matches!(steps.first(), Some(Step::User { .. }) | None) {
        contents.push(Piece::Made(json!({"role": "user", "parts": [{"text": EARLIER}]})));
    }
    for step in steps {
        match step {
            Step::User { text, images, .. } => {
                contents.push(Piece::Made(user(text, images, asked.quirks.images)));
            }
            Step::Said(text) => {
                contents.push(Piece::Made(json!({"role": "model", "parts": [{"text": text}]})));
            }
            Step::Own { message, results } => {
                contents.push(Piece::Kept(&message.turn.assistant));
                contents.extend(results.iter().map(Piece::Kept));
            }
            Step::Rebuilt { text, calls, results } => {
                contents.push(Piece::Made(rebuilt(text, calls)));
                contents.extend(results.iter().map(Piece::Kept));
            }
        }
    }
    body.put("contents", Piece::List(contents));
    if let Some(tools) = asked.tools {
        body.put("tools", Piece::Kept(tools));
    }
    body
}

fn user(text: &str, images: &[Blob], takes_images: bool) -> Value {
    let media = wire::pictures(images, Format::Gemini, takes_images);
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

/// Only the first call of a step carries a signature.
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
