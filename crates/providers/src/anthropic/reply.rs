//! Renders results for Anthropic as one user message: every `tool_result` first, in the order of
//! the calls. Anthropic advises against splitting them, because it teaches the model not to call in
//! parallel.

use serde_json::{Value, json};

use crate::model_turn::Turn;
use crate::result_content::{self, Media};
use crate::result_messages::CallResult;
use crate::wire_format::Format;

pub(crate) fn reply(turn: &Turn, answers: &[CallResult<'_>]) -> Vec<Value> {
    let limit = result_content::limits(Format::Anthropic).result_chars;
    let mut blocks = Vec::new();
    let mut after = Vec::new();
    for (call, answer) in turn.calls.iter().zip(answers) {
        let media = result_content::media(answer, Format::Anthropic);
        let mut content = vec![
            json!({"type": "text", "text": result_content::text_with_notes(answer, &media, limit)}),
        ];
        let images: Vec<Value> = media.iter().filter(|m| m.fits).map(image).collect();
        let id = call.provider_id.as_deref().unwrap_or_default();
        let is_error = result_content::is_error(answer);
        if !is_error {
            content.extend(images);
        } else if !images.is_empty() {
            // An error result accepts only text.
            after.push(json!({"type": "text", "text": format!("From the result of {id}:")}));
            after.extend(images);
        }
        blocks.push(result_content::members([
            ("type", "tool_result".into()),
            ("tool_use_id", id.into()),
            ("content", content.into()),
            ("is_error", if is_error { true.into() } else { Value::Null }),
        ]));
    }
    blocks.append(&mut after);
    vec![json!({"role": "user", "content": blocks})]
}

fn image(media: &Media<'_>) -> Value {
    json!({
        "type": "image",
        "source": {
            "type": "base64", "media_type": media.blob.media_type, "data": media.base64(),
        },
    })
}
