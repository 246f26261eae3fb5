//! Request body of OpenAI Responses: a flat list of items.

use serde_json::{Value, json};
use toolcrib_core::Blob;

use super::json_body::{
    Body, JsonPiece, PatchedObject, RequestInput, is_reasoning_model, text_with_notes,
};
use super::render_history::{RebuiltCall, RenderedMessage};
use crate::call_collector::{field, text_field};
use crate::json_object::object;
use crate::result_content;
use crate::wire_format::Format;

pub(super) fn body<'a>(asked: &RequestInput<'a>, steps: &'a [RenderedMessage<'a>]) -> Body<'a> {
    let RequestInput { quirks, request, info, .. } = asked;
    let reasons = is_reasoning_model(&info.model);
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
            RenderedMessage::User { text, images, .. } => {
                input.push(JsonPiece::Made(user(text, images, quirks.images)));
            }
            RenderedMessage::ModelText(text) => input.push(JsonPiece::Made(said(text))),
            RenderedMessage::Own { message, results } => {
                let takes = ReplaySupport {
                    reasoning: may_reason && message.model == info.model,
                    stored: quirks.store,
                };
                own(&message.turn.assistant, takes, &mut input);
                input.extend(results.iter().map(JsonPiece::Kept));
            }
            RenderedMessage::Rebuilt { text, calls, results } => {
                if !text.is_empty() {
                    input.push(JsonPiece::Made(said(text)));
                }
                input.extend(calls.iter().map(|call| JsonPiece::Made(rebuilt(call))));
                input.extend(results.iter().map(JsonPiece::Kept));
            }
        }
    }
    body.put("input", JsonPiece::List(input));
    if let Some(tools) = asked.tools {
        body.put("tools", JsonPiece::Kept(tools));
    }
    body
}

fn said(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": text})
}

fn user(text: &str, images: &[Blob], takes_images: bool) -> Value {
    let media = result_content::user_images(images, Format::OpenAiResponses, takes_images);
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

/// The reasoning of a turn that the model accepts.
#[derive(Clone, Copy)]
struct ReplaySupport {
    /// Whether the reasoning is the model's own: a model rejects that of another one, and a model
    /// without reasoning rejects any.
    reasoning: bool,
    /// Whether the provider stores the responses.
    stored: bool,
}

/// Returns the items as received. If nothing is stored, the provider identifies reasoning only by
/// its encrypted content. Reasoning without it, and reasoning that the model does not accept, is
/// omitted, together with the ids that link other items to it. Trailing reasoning is dropped too:
/// it must be followed by another item.
fn own<'a>(assistant: &'a Value, takes: ReplaySupport, input: &mut Vec<JsonPiece<'a>>) {
    let items = assistant.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_reasoning = |item: &Value| text_field(item, "type") == Some("reasoning");
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
                JsonPiece::Changed(PatchedObject { object, keep: |key, _| key != "id", add: None })
            }
            _ => JsonPiece::Kept(item),
        });
    }
}

/// Returns whether an item is accepted without an id.
fn is_message_or_call(item: &Value) -> bool {
    matches!(text_field(item, "type"), Some("message" | "function_call" | "custom_tool_call"))
}

fn rebuilt(call: &RebuiltCall) -> Value {
    json!({
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.args.to_string(),
    })
}
