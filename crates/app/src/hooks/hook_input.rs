//! Builds the JSON object that a hook program reads on its standard input.

use std::path::Path;

use serde_json::{Value, json};
use toolcrib_core::hook::GuardInput;
use toolcrib_core::{Context, Event, Origin, effective_channel};

use super::HookEvent;

/// Maximum number of characters of a result or error in the input.
const RESULT_CHARS: usize = 100_000;

/// Builds the input for a call before policy evaluates it.
pub(super) fn guard_input(call: &GuardInput<'_>, folder: &Path) -> Value {
    let mut context = common(HookEvent::Guard, call.tool, (call.context, call.origin), folder);
    fill(
        &mut context,
        json!({
            "parameters": call.args,
            "attempt": 1,
            "call": call.call.to_string(),
            "run": call.run.map(|run| run.to_string()),
            "origin": call.origin,
        }),
    );
    context
}

/// Builds the input for an event.
pub(super) fn event_input(event: &Event, folder: &Path) -> Value {
    let mut context =
        common(HookEvent::On(event.kind), &event.tool, (&event.context, event.origin), folder);
    fill(
        &mut context,
        json!({
            "parameters": event.args.as_deref().cloned().unwrap_or_else(|| json!({})),
            "result": event.result.as_deref().map(truncate),
            "error": event.error.as_deref().map(truncate),
            "error_type": event.error_type,
            "duration": event.duration.as_secs_f64(),
            "attempt": event.attempt,
            "call": event.call.to_string(),
            "run": event.run.map(|run| run.to_string()),
            "origin": event.origin,
            "approval": event.approval.map(|id| id.to_string()),
            "decided_by": event.decided_by,
        }),
    );
    context
}

fn common(
    event: HookEvent,
    tool: &str,
    (context, origin): (&Context, Origin),
    folder: &Path,
) -> Value {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let workspace = known(&context.workspace).unwrap_or_else(|| folder.display().to_string());
    json!({
        "hook_point": event.as_str(),
        "tool_name": tool,
        "parameters": {},
        "role": known(&context.agent).unwrap_or_else(|| "agent".to_owned()),
        "result": null,
        "error": null,
        "error_type": null,
        "duration": 0.0,
        "attempt": 0,
        "workspace": workspace,
        "session_id": known(&context.conversation),
        "channel": effective_channel(context, origin),
        "call": null,
        "run": null,
    })
}

fn fill(context: &mut Value, more: Value) {
    if let (Some(context), Value::Object(more)) = (context.as_object_mut(), more) {
        context.extend(more);
    }
}

fn truncate(text: &str) -> String {
    text.chars().take(RESULT_CHARS).collect()
}
