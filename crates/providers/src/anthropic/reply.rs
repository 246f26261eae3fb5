//! Results as one user message: every `tool_result` first, in the order of the calls. Splitting them teaches the model not to call in parallel.

use serde_json::{Value, json};

use crate::format::Format;
use crate::reply::Answered;
use crate::turn::Turn;
use crate::wire::{self, Media};

pub(crate) fn reply(turn: &Turn, answers: &[Answered<'_>]) -> Vec<Value> {
    let limit = wire::limits(Format::Anthropic).result_chars;
    let mut blocks = Vec::new();
    let mut after = Vec::new();
    for (call, answer) in turn.calls.iter().zip(answers) {
        let media = wire::media(answer, Format::Anthropic);
        let mut content =
            vec![json!({"type": "text", "text": wire::text_with_notes(answer, &media, limit)})];
        let images: Vec<Value> = media.iter().filter(|m| m.fits).map(image).collect();
        let id = call.provider_id.as_deref().unwrap_or_default();
        let is_error = wire::is_error(answer);
        if !is_error {
            content.extend(images);
        } else if !images.is_empty() {
            // An error result takes nothing but text.
            after.push(json!({"type": "text", "text": format!("From the result of {id}:")}));
            after.extend(images);
        }
        blocks.push(wire::members([
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
