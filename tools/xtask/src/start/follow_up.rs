//! The results in a follow-up, whatever format it is in.

use serde_json::Value;

/// One result, as the provider will see it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CallResult {
    /// The id of the call that it answers; in the text format its place, from 1.
    pub(super) id: String,
    /// Its words; data as JSON without blanks.
    pub(super) text: String,
}

/// Where a format keeps the id of a call, and its result.
const FIELDS: [(&str, &str); 4] = [
    ("tool_call_id", "content"),
    ("call_id", "output"),
    ("tool_use_id", "content"),
    ("id", "response"),
];

/// Every result in the order in which it stands.
pub(super) fn results(format: &str, messages: &Value) -> Vec<CallResult> {
    let mut found = Vec::new();
    if format == "text" {
        let all = words(messages);
        let parts = all.split("<tool_result").skip(1).enumerate();
        found.extend(
            parts.map(|(n, part)| CallResult { id: (n + 1).to_string(), text: part.to_owned() }),
        );
    } else {
        collect(messages, &mut found);
    }
    found
}

fn collect(value: &Value, found: &mut Vec<CallResult>) {
    if let Some(result) = FIELDS.iter().find_map(|fields| result_in(value, fields)) {
        found.push(result);
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => members.values().for_each(|member| collect(member, found)),
        _ => {}
    }
}

fn result_in(value: &Value, (id, result): &(&str, &str)) -> Option<CallResult> {
    Some(CallResult { id: value.get(id)?.as_str()?.to_owned(), text: words(value.get(result)?) })
}

/// All text of a value: strings and text blocks as they are, other objects as JSON.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => match members.get("text").or_else(|| members.get("content")) {
            Some(inner) => words(inner),
            None => value.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn results_are_found_in_every_format() {
        let chat = json!([{"role": "tool", "tool_call_id": "a", "content": "x"}]);
        let responses = json!([{"type": "function_call_output", "call_id": "a", "output": "x"}]);
        let block = json!({"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]});
        let anthropic = json!([{"role": "user", "content": [block]}]);
        let part = json!({"functionResponse": {"id": "a", "name": "t", "response": {"r": "x"}}});
        let gemini = json!([{"role": "user", "parts": [part]}]);
        for (format, messages, id, text) in [
            ("openai-chat", chat, "a", "x"),
            ("openai-responses", responses, "a", "x"),
            ("anthropic", anthropic, "a", "x"),
            ("gemini", gemini, "a", "{\"r\":\"x\"}"),
            ("text", json!([{"role": "user", "content": "<tool_result>x"}]), "1", ">x"),
        ] {
            let expected = CallResult { id: id.to_owned(), text: text.to_owned() };
            assert_eq!(results(format, &messages), [expected], "{format}");
        }
    }
}
