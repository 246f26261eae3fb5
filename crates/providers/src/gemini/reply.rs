//! Renders results for Gemini as one user content with one `functionResponse` part per call,
//! directly after the model's content.

use serde_json::{Value, json};

use crate::model_turn::{ModelCall, Turn};
use crate::result_content;
use crate::result_messages::CallResult;
use crate::wire_format::Format;

pub(crate) fn reply(turn: &Turn, answers: &[CallResult<'_>]) -> Vec<Value> {
    let parts: Vec<Value> =
        turn.calls.iter().zip(answers).map(|(call, answer)| part(call, answer)).collect();
    vec![json!({"role": "user", "parts": parts})]
}

fn part(call: &ModelCall, answer: &CallResult<'_>) -> Value {
    let limit = result_content::limits(Format::Gemini).result_chars;
    let media = result_content::media(answer, Format::Gemini);
    let mut response = result_content::bounded_object(answer, limit);
    let unseen: Vec<String> =
        media.iter().filter(|m| !m.fits).map(result_content::omitted_note).collect();
    if let Some(object) = response.as_object_mut() {
        if !unseen.is_empty() {
            object.insert("media".to_owned(), unseen.into());
        }
        // Gemini recognizes a failed call by the key `error`.
        if result_content::is_error(answer)
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
    result_content::members([
        (
            "functionResponse",
            result_content::members([
                ("id", text(&call.provider_id)),
                ("name", call.name.clone().into()),
                ("response", response),
                ("parts", if pictures.is_empty() { Value::Null } else { pictures.into() }),
            ]),
        ),
        ("thoughtSignature", text(&call.extra.thought_signature)),
    ])
}
