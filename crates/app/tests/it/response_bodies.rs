//! Builds model responses in each provider's format.

use serde_json::{Value, json};

/// One call: id, name, arguments.
pub(crate) type Asked<'a> = (&'a str, &'a str, Value);

/// Returns a Chat Completions body; arguments that are text are inserted unchanged.
pub(crate) fn chat(calls: &[Asked<'_>]) -> String {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, name, args)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": text(args)}})
        })
        .collect();
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "m",
        "choices": [{
            "index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": null, "tool_calls": calls},
        }],
    })
    .to_string()
}

/// Returns a Responses body.
pub(crate) fn responses(calls: &[Asked<'_>]) -> String {
    let items: Vec<Value> = calls
        .iter()
        .map(|(id, name, args)| {
            json!({
                "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
                "arguments": text(args), "status": "completed",
            })
        })
        .collect();
    json!({"id": "resp_1", "object": "response", "status": "completed", "output": items})
        .to_string()
}

/// Returns a Messages body.
pub(crate) fn anthropic(calls: &[Asked<'_>]) -> String {
    let blocks: Vec<Value> = calls
        .iter()
        .map(|(id, name, args)| json!({"type": "tool_use", "id": id, "name": name, "input": args}))
        .collect();
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "stop_reason": "tool_use", "content": blocks,
    })
    .to_string()
}

/// Returns a `generateContent` body without empty ids.
pub(crate) fn gemini(calls: &[Asked<'_>]) -> String {
    let parts: Vec<Value> = calls
        .iter()
        .map(|(id, name, args)| {
            let mut call = json!({"name": name, "args": args});
            if !id.is_empty() {
                call["id"] = json!(id);
            }
            json!({"functionCall": call})
        })
        .collect();
    json!({
        "candidates": [{
            "index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": parts},
        }],
    })
    .to_string()
}

/// Returns an answer in plain text.
pub(crate) fn tagged(calls: &[Asked<'_>]) -> String {
    let block = |(_, name, args): &Asked<'_>| {
        format!("<tool_call>\n{}\n</tool_call>", json!({"name": name, "arguments": args}))
    };
    calls.iter().map(block).collect::<Vec<_>>().join("\n")
}

/// Returns an SSE text of these events.
pub(crate) fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn text(args: &Value) -> String {
    args.as_str().map_or_else(|| args.to_string(), str::to_owned)
}
