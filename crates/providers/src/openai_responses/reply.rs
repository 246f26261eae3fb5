//! Renders results for OpenAI Responses as output items of the type that each call requires.

use serde_json::{Value, json};
use toolcrib_core::OutcomeKind;

use crate::model_turn::{CallKind, ModelCall, Turn};
use crate::result_content::{self, Media};
use crate::result_messages::CallResult;
use crate::wire_format::Format;

/// A `computer_call_output` must contain a screenshot. For a failed call without one, this single
/// transparent pixel is sent, and a message reports the failure.
const NO_SCREENSHOT: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

pub(crate) fn reply(turn: &Turn, answers: &[CallResult<'_>]) -> Vec<Value> {
    let mut items = Vec::new();
    let mut messages = Vec::new();
    for (call, answer) in turn.calls.iter().zip(answers) {
        let media = result_content::media(answer, Format::OpenAiResponses);
        let limit = result_content::limits(Format::OpenAiResponses).result_chars;
        let text = result_content::text_with_notes(answer, &media, limit);
        let id = call.provider_id.clone().map_or(Value::Null, Value::String);
        let caller = call.extra.caller.clone().unwrap_or(Value::Null);
        items.push(match call.extra.kind {
            CallKind::Custom => result_content::members([
                ("type", "custom_tool_call_output".into()),
                ("call_id", id),
                ("output", output(text, &media)),
                ("caller", caller),
            ]),
            CallKind::Shell => json!({
                "type": "shell_call_output", "call_id": id, "output": [shell(answer, text)],
            }),
            CallKind::LocalShell => {
                json!({"type": "local_shell_call_output", "id": id, "output": text})
            }
            CallKind::ApplyPatch => json!({
                "type": "apply_patch_call_output",
                "call_id": id,
                "status": if succeeded(answer) { "completed" } else { "failed" },
                "output": text,
            }),
            CallKind::Computer => {
                if media.iter().all(|m| !m.fits) {
                    messages.push(no_screenshot(&text));
                }
                computer(call, answer, &media, id)
            }
            CallKind::Function | CallKind::LegacyFunction => result_content::members([
                ("type", "function_call_output".into()),
                ("call_id", id),
                ("output", output(text, &media)),
                ("caller", caller),
            ]),
        });
    }
    items.append(&mut messages);
    items
}

fn succeeded(answer: &CallResult<'_>) -> bool {
    !result_content::is_error(answer)
        && matches!(answer, CallResult::Outcome(_) | CallResult::Kept(_))
}

fn output(text: String, media: &[Media<'_>]) -> Value {
    if media.iter().all(|m| !m.fits) {
        return text.into();
    }
    let mut parts = vec![json!({"type": "input_text", "text": text})];
    parts.extend(
        media
            .iter()
            .filter(|m| m.fits)
            .map(|m| json!({"type": "input_image", "detail": "auto", "image_url": m.data_url()})),
    );
    parts.into()
}

/// Returns the separate streams of a shell tool if its data has them, else the complete result as
/// output.
fn shell(answer: &CallResult<'_>, text: String) -> Value {
    let (data, kind) = match answer {
        CallResult::Outcome(outcome) => {
            let result = outcome.result.as_ref().ok();
            (result.and_then(|result| result.structured.as_ref()), Some(outcome.kind))
        }
        CallResult::Kept(kept) => (kept.wire.get("result"), kept.kind),
        CallResult::Suspended(_) | CallResult::NotRun(_) => (None, None),
    };
    let data = data.filter(|data| data.get("stdout").is_some_and(Value::is_string));
    let stream = |name: &str| data.and_then(|d| d.get(name)).and_then(Value::as_str);
    let code = data.and_then(|d| d.get("exit_code")).and_then(Value::as_i64);
    let ended = match kind {
        Some(OutcomeKind::TimedOut) => json!({"type": "timeout"}),
        _ => {
            let code = code.unwrap_or_else(|| i64::from(!succeeded(answer)));
            json!({"type": "exit", "exit_code": code})
        }
    };
    json!({
        "stdout": stream("stdout").map_or(text, str::to_owned),
        "stderr": stream("stderr").unwrap_or_default(),
        "outcome": ended,
    })
}

fn computer(call: &ModelCall, answer: &CallResult<'_>, media: &[Media<'_>], id: Value) -> Value {
    let shot = media.iter().find(|m| m.fits && m.is_image()).map(Media::data_url);
    // The approver has seen the safety checks; a call that did not run acknowledges nothing.
    let checks = call.extra.safety_checks.clone().filter(|_| succeeded(answer));
    result_content::members([
        ("type", "computer_call_output".into()),
        ("call_id", id),
        (
            "output",
            json!({
                "type": "computer_screenshot",
                "image_url": shot.unwrap_or_else(|| NO_SCREENSHOT.to_owned()),
            }),
        ),
        ("acknowledged_safety_checks", checks.unwrap_or(Value::Null)),
    ])
}

fn no_screenshot(text: &str) -> Value {
    let text = format!("There is no screenshot. Result of the computer call: {text}");
    json!({
        "type": "message", "role": "user", "content": [{"type": "input_text", "text": text}],
    })
}
