//! Responses of models in every format, complete and as a recorded stream; and the results in the
//! messages that are sent back.

use serde_json::{Value, json};

pub(crate) const FORMATS: [&str; 5] =
    ["openai-chat", "openai-responses", "anthropic", "gemini", "text"];

/// A call in a model's response. The arguments are a value if the format has values, else text.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) args: Value,
}

pub(crate) fn ask(id: &str, name: &str, args: Value) -> Ask {
    Ask { id: id.to_owned(), name: name.to_owned(), args }
}

/// Returns arguments as text for OpenAI's formats; text is used unchanged, so that it can be
/// invalid.
fn text_of(args: &Value) -> String {
    args.as_str().map_or_else(|| args.to_string(), str::to_owned)
}

/// Returns the complete response body.
pub(crate) fn body(format: &str, asks: &[Ask]) -> String {
    let list = |one: fn(&Ask) -> Value| asks.iter().map(one).collect::<Vec<_>>();
    let value = match format {
        "openai-chat" => json!({"id": "chatcmpl-1", "object": "chat.completion", "choices": [{
            "index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": null, "tool_calls": list(chat_call)}}]}),
        "openai-responses" => json!({"id": "resp_1", "object": "response", "status": "completed",
            "output": list(response_item)}),
        "anthropic" => json!({"id": "msg_1", "type": "message", "role": "assistant",
            "stop_reason": "tool_use", "content": list(tool_use)}),
        "gemini" => json!({"candidates": [{"index": 0, "finishReason": "STOP",
            "content": {"role": "model", "parts": list(function_call)}}]}),
        _ => return asks.iter().map(block).collect(),
    };
    value.to_string()
}

fn chat_call(ask: &Ask) -> Value {
    json!({"id": ask.id, "type": "function",
        "function": {"name": ask.name, "arguments": text_of(&ask.args)}})
}

fn response_item(ask: &Ask) -> Value {
    json!({"type": "function_call", "id": format!("fc_{}", ask.id), "call_id": ask.id,
        "status": "completed", "name": ask.name, "arguments": text_of(&ask.args)})
}

fn tool_use(ask: &Ask) -> Value {
    json!({"type": "tool_use", "id": ask.id, "name": ask.name, "input": ask.args})
}

fn function_call(ask: &Ask) -> Value {
    json!({"functionCall": {"id": ask.id, "name": ask.name, "args": ask.args}})
}

fn block(ask: &Ask) -> String {
    format!("<tool_call>\n{}\n</tool_call>\n", json!({"name": ask.name, "arguments": ask.args}))
}

/// Returns the response as server-sent events, with the arguments in pieces if the format has them.
/// Text has no separate stream format.
pub(crate) fn stream(format: &str, asks: &[Ask]) -> String {
    match format {
        "openai-chat" => chat_stream(asks),
        "openai-responses" => responses_stream(asks),
        "anthropic" => anthropic_stream(asks),
        "gemini" => gemini_stream(asks),
        _ => body(format, asks),
    }
}

/// Splits a text into pieces of at most seven characters, the first one empty, as some servers send
/// it.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    std::iter::once(String::new())
        .chain(chars.chunks(7).map(|piece| piece.iter().collect()))
        .collect()
}

fn chat_stream(asks: &[Ask]) -> String {
    let chunk = |delta: Value, reason: Value| {
        let value = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        format!("data: {value}\n\n")
    };
    let mut text = chunk(json!({"role": "assistant", "content": ""}), Value::Null);
    for (index, ask) in asks.iter().enumerate() {
        let start = json!({"index": index, "id": ask.id, "type": "function",
            "function": {"name": ask.name, "arguments": ""}});
        text += &chunk(json!({"tool_calls": [start]}), Value::Null);
        for piece in pieces(&text_of(&ask.args)) {
            let part = json!({"index": index, "function": {"arguments": piece}});
            text += &chunk(json!({"tool_calls": [part]}), Value::Null);
        }
    }
    text + &chunk(json!({}), json!("tool_calls")) + "data: [DONE]\n\n"
}

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

fn responses_stream(asks: &[Ask]) -> String {
    let mut text = event(&json!({"type": "response.created",
        "response": {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}}));
    for (index, ask) in asks.iter().enumerate() {
        let whole = response_item(ask);
        let mut item = whole.clone();
        item["arguments"] = json!("");
        item["status"] = json!("in_progress");
        text += &event(
            &json!({"type": "response.output_item.added", "output_index": index, "item": item}),
        );
        for piece in pieces(&text_of(&ask.args)) {
            text += &event(&json!({"type": "response.function_call_arguments.delta",
                "item_id": item["id"], "output_index": index, "delta": piece}));
        }
        text += &event(&json!({"type": "response.function_call_arguments.done",
            "item_id": item["id"], "output_index": index, "arguments": text_of(&ask.args)}));
        text += &event(
            &json!({"type": "response.output_item.done", "output_index": index, "item": whole}),
        );
    }
    let output: Vec<Value> = asks.iter().map(response_item).collect();
    text + &event(&json!({"type": "response.completed",
        "response": {"id": "resp_1", "object": "response", "status": "completed", "output": output}}))
}

fn anthropic_stream(asks: &[Ask]) -> String {
    let mut text = event(&json!({"type": "message_start", "message": {"id": "msg_1",
        "type": "message", "role": "assistant", "content": [], "stop_reason": null}}));
    text += &event(&json!({"type": "ping"}));
    for (index, ask) in asks.iter().enumerate() {
        let block = json!({"type": "tool_use", "id": ask.id, "name": ask.name, "input": {}});
        text +=
            &event(&json!({"type": "content_block_start", "index": index, "content_block": block}));
        for piece in pieces(&text_of(&ask.args)) {
            let delta = json!({"type": "input_json_delta", "partial_json": piece});
            text += &event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        text += &event(&json!({"type": "content_block_stop", "index": index}));
    }
    text += &event(&json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
    text + &event(&json!({"type": "message_stop"}))
}

fn gemini_stream(asks: &[Ask]) -> String {
    let chunk = |parts: Value, reason: Option<&str>| {
        let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
        if let Some(reason) = reason {
            candidate["finishReason"] = json!(reason);
        }
        format!("data: {}\r\n\r\n", json!({"candidates": [candidate]}))
    };
    let calls: String = asks.iter().map(|ask| chunk(json!([function_call(ask)]), None)).collect();
    calls + &chunk(json!([{"text": ""}]), Some("STOP"))
}

/// Returns the results in messages as `(id, wire form)`, and fails if these do not have exactly the
/// form of the format. Gemini and text also identify calls by id; text numbers them.
#[track_caller]
pub(crate) fn results(format: &str, messages: &Value) -> Vec<(String, Value)> {
    let messages = messages.as_array().expect("a list of messages");
    let parts: Vec<(String, Value)> = match format {
        "openai-chat" => messages.iter().map(chat_result).collect(),
        "openai-responses" => messages.iter().map(response_result).collect(),
        "anthropic" => only(messages, "content").iter().map(tool_result).collect(),
        "gemini" => only(messages, "parts").iter().map(function_response).collect(),
        _ => text_results(messages),
    };
    for (_, wire) in &parts {
        let status = wire["status"].as_str();
        assert!(status == Some("success") || status == Some("error"), "{wire}");
        assert_eq!(status == Some("error"), wire.get("error_type").is_some(), "{wire}");
    }
    parts
}

/// Returns the parts of the only user message.
#[track_caller]
fn only<'m>(messages: &'m [Value], parts: &str) -> &'m [Value] {
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(messages[0]["role"], "user");
    assert_eq!(keys(&messages[0]), ["role", parts]);
    messages[0][parts].as_array().unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn chat_result(message: &Value) -> (String, Value) {
    assert_eq!(keys(message), ["role", "tool_call_id", "content"]);
    assert_eq!(message["role"], "tool");
    (string(&message["tool_call_id"]), super::json(message["content"].as_str().unwrap()))
}

fn response_result(item: &Value) -> (String, Value) {
    assert_eq!(keys(item), ["type", "call_id", "output"]);
    assert_eq!(item["type"], "function_call_output");
    (string(&item["call_id"]), super::json(item["output"].as_str().unwrap()))
}

fn tool_result(block: &Value) -> (String, Value) {
    assert_eq!(block["type"], "tool_result");
    let content = block["content"].as_array().unwrap();
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")));
    let wire = super::json(content[0]["text"].as_str().unwrap());
    let failed = wire["status"] == "error";
    assert_eq!(block.get("is_error"), failed.then_some(&json!(true)));
    (string(&block["tool_use_id"]), wire)
}

fn function_response(part: &Value) -> (String, Value) {
    let response = &part["functionResponse"];
    assert!(response["name"].is_string() && response["response"].is_object(), "{part}");
    let id = response.get("id").map(string).unwrap_or_default();
    (id, response["response"].clone())
}

fn text_results(messages: &[Value]) -> Vec<(String, Value)> {
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["role"], "user");
    let text = messages[0]["content"].as_str().unwrap();
    let blocks = text
        .strip_suffix("\n</tool_result>")
        .expect("ends with a result")
        .split("\n</tool_result>\n");
    blocks
        .map(|block| {
            let (head, wire) = block.split_once(">\n").unwrap();
            let (_, id) = head.split_once(" id=\"").unwrap();
            (id.trim_end_matches('"').to_owned(), super::json(wire))
        })
        .collect()
}
