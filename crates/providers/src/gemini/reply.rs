//! Results as one user content with as many `functionResponse` parts as there were calls, right after the model's content.

use serde_json::{Value, json};

use crate::format::Format;
use crate::reply::Answered;
use crate::turn::{ModelCall, Turn};
use crate::wire;

pub(crate) fn reply(turn: &Turn, answers: &[Answered<'_>]) -> Vec<Value> {
    let parts: Vec<Value> =
        turn.calls.iter().zip(answers).map(|(call, answer)| part(call, answer)).collect();
    vec![json!({"role": "user", "parts": parts})]
}

fn part(call: &ModelCall, answer: &Answered<'_>) -> Value {
    let limit = wire::limits(Format::Gemini).result_chars;
    let media = wire::media(answer, Format::Gemini);
    let mut response = wire::bounded_object(answer, limit);
    let unseen: Vec<String> = media.iter().filter(|m| !m.fits).map(wire::not_shown).collect();
    if let Some(object) = response.as_object_mut() {
        if !unseen.is_empty() {
            object.insert("media".to_owned(), unseen.into());
        }
        // `error` is the key by which Gemini knows a failed call.
        if wire::is_error(answer)
            && let Some(message) = object.get("message").cloned()
        {
            object.insert("error".to_owned(), message);
        }
    }
    let pictures: Vec<Value> = media
        .iter()
        .filter(|m| m.fits)
        .map(|m| json!({"inlineData": {"mimeType": m.blob.media_type, "data": m.base64()}}))
        .collect();
    let text = |value: &Option<String>| value.clone().map_or(Value::Null, Value::String);
    wire::members([
        (
            "functionResponse",
            wire::members([
                ("id", text(&call.provider_id)),
                ("name", call.name.clone().into()),
                ("response", response),
                ("parts", if pictures.is_empty() { Value::Null } else { pictures.into() }),
            ]),
        ),
        ("thoughtSignature", text(&call.extra.thought_signature)),
    ])
}
