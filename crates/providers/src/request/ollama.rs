//! The body of Ollama's own `/api/chat`: texts are plain, pictures stand beside them, arguments are objects, results are paired by name.

use serde_json::{Map, Value, json};
use toolcrib_core::Blob;

use super::body::{Asked, Body, Piece, text_with_notes};
use super::chat::{in_turns, own, system_message};
use super::history::{RebuiltCall, Step};
use crate::format::Format;
use crate::wire;

pub(super) fn body<'a>(asked: &Asked<'a>, steps: &'a [Step<'a>]) -> Body<'a> {
    let Asked { quirks, request, .. } = asked;
    let options: Map<String, Value> = [
        ("num_ctx", quirks.num_ctx.map(Value::from)),
        ("num_predict", request.max_output.map(Value::from)),
        ("temperature", asked.temperature().map(Value::from)),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key.to_owned(), value?)))
    .collect();
    let mut body = Body::new([
        ("model", Some(asked.info.model.as_str().into())),
        // Left out it means "yes".
        ("stream", Some(request.stream.into())),
        ("options", (!options.is_empty()).then_some(Value::Object(options))),
    ]);
    let mut messages = Vec::new();
    if !asked.system.is_empty() {
        messages.push(Piece::Made(system_message(quirks.system, asked.system)));
    }
    for step in steps {
        match step {
            Step::User { text, images, .. } => {
                messages.push(Piece::Made(user(text, images, quirks.images)));
            }
            Step::Said(text) => {
                messages.push(Piece::Made(json!({"role": "assistant", "content": text})));
            }
            Step::Own { message, results } => {
                messages.push(own(message, quirks.reasoning));
                messages.extend(results.iter().map(Piece::Kept));
            }
            Step::Rebuilt { text, calls, results } => {
                messages.push(Piece::Made(rebuilt(text, calls)));
                messages.extend(results.iter().map(Piece::Kept));
            }
        }
    }
    body.put("messages", Piece::List(in_turns(messages, quirks)));
    if let Some(tools) = asked.tools {
        body.put("tools", Piece::Kept(tools));
    }
    body
}

fn user(text: &str, images: &[Blob], takes_images: bool) -> Value {
    let media = wire::pictures(images, Format::OpenAiChat, takes_images);
    let text = text_with_notes(text, &media);
    let images: Vec<Value> = media.iter().filter(|m| m.fits).map(|m| m.base64().into()).collect();
    wire::members([
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
