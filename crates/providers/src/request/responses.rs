//! The body of OpenAI Responses: a flat list of items.

use serde_json::{Value, json};
use toolcrib_core::Blob;

use super::body::{Asked, Body, Changed, Piece, reasons, text_with_notes};
use super::history::{RebuiltCall, Step};
use crate::calls::{field, text_of};
use crate::declare::object;
use crate::format::Format;
use crate::wire;

pub(super) fn body<'a>(asked: &Asked<'a>, steps: &'a [Step<'a>]) -> Body<'a> {
    let Asked { quirks, request, info, .. } = asked;
    let reasons = reasons(&info.model);
    let encrypted = !quirks.store && quirks.encrypted_reasoning.unwrap_or(reasons);
    let may_reason = reasons || quirks.encrypted_reasoning == Some(true);
    let parallel = quirks.parallel_tool_calls.filter(|_| asked.tools.is_some());
    let mut body = Body::new([
        ("model", Some(info.model.as_str().into())),
        ("instructions", Some(asked.system).filter(|s| !s.is_empty()).map(Value::from)),
        ("max_output_tokens", request.max_output.map(Value::from)),
        ("temperature", asked.temperature().map(Value::from)),
        ("stream", Some(request.stream.into())),
        ("store", Some(quirks.store.into())),
        ("include", encrypted.then(|| json!(["reasoning.encrypted_content"]))),
        ("parallel_tool_calls", parallel.map(Value::Bool)),
    ]);
    let mut input = Vec::new();
    for step in steps {
        match step {
            Step::User { text, images, .. } => {
                input.push(Piece::Made(user(text, images, quirks.images)));
            }
            Step::Said(text) => input.push(Piece::Made(said(text))),
            Step::Own { message, results } => {
                let takes = Takes {
                    reasoning: may_reason && message.model == info.model,
                    stored: quirks.store,
                };
                own(&message.turn.assistant, takes, &mut input);
                input.extend(results.iter().map(Piece::Kept));
            }
            Step::Rebuilt { text, calls, results } => {
                if !text.is_empty() {
                    input.push(Piece::Made(said(text)));
                }
                input.extend(calls.iter().map(|call| Piece::Made(rebuilt(call))));
                input.extend(results.iter().map(Piece::Kept));
            }
        }
    }
    body.put("input", Piece::List(input));
    if let Some(tools) = asked.tools {
        body.put("tools", Piece::Kept(tools));
    }
    body
}

fn said(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": text})
}

fn user(text: &str, images: &[Blob], takes_images: bool) -> Value {
    let media = wire::pictures(images, Format::OpenAiResponses, takes_images);
    let text = text_with_notes(text, &media);
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(json!({"type": "input_text", "text": text}));
    }
    parts.extend(media.iter().filter(|m| m.fits).map(|m| {
        let url = m.data_url().into();
        let image = [("type", "input_image".into()), ("detail", "auto".into()), ("image_url", url)];
        object(image).into()
    }));
    let kind = [("type", "message".into()), ("role", "user".into()), ("content", parts.into())];
    object(kind).into()
}

/// What of a turn's reasoning the model takes.
#[derive(Clone, Copy)]
struct Takes {
    /// Whether it is its own: a model refuses the reasoning of another one, and one that does not reason refuses any.
    reasoning: bool,
    /// Whether the provider keeps the responses.
    stored: bool,
}

/// The items as they came. When nothing is stored, the provider knows reasoning only by its encrypted content: an item without it is left out,
/// as is all reasoning that the model does not take, and then the ids that tie the others to it are too. Reasoning must lead to something, so
/// none stands at the end.
fn own<'a>(assistant: &'a Value, takes: Takes, input: &mut Vec<Piece<'a>>) {
    let items = assistant.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_reasoning = |item: &Value| text_of(item, "type") == Some("reasoning");
    let is_lost = |item: &Value| {
        let is_known = takes.stored || field(item, &["encrypted_content"]).is_some();
        is_reasoning(item) && !(takes.reasoning && is_known)
    };
    let end = items.iter().rposition(|item| !is_reasoning(item)).map_or(0, |at| at + 1);
    let items = items.get(..end).unwrap_or_default();
    let untied = items.iter().any(is_lost);
    for item in items.iter().filter(|item| !is_lost(item)) {
        input.push(match item.as_object() {
            Some(object) if untied && is_message_or_call(item) => {
                Piece::Changed(Changed { object, keep: |key, _| key != "id", add: None })
            }
            _ => Piece::Kept(item),
        });
    }
}

/// Items that are taken without an id.
fn is_message_or_call(item: &Value) -> bool {
    matches!(text_of(item, "type"), Some("message" | "function_call" | "custom_tool_call"))
}

fn rebuilt(call: &RebuiltCall) -> Value {
    json!({
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.args.to_string(),
    })
}
