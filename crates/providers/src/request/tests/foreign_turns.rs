//! Tests of rebuilding turns of another provider, or turns with invalid names, for the target
//! format.

use serde_json::json;

use super::*;
use crate::quirks::Server;

/// A turn of Chat with a text, one call under another name of the tool and one whose arguments are
/// not JSON.
fn foreign() -> Vec<Message> {
    let body = json!({"choices": [{"finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": "Let me look.", "reasoning_content": "secret",
        "tool_calls": [
            {"id": "", "type": "function", "function": {"name": "read_all", "arguments": "{\"n\":12345678901234567890}"}},
            {"id": "x", "type": "function", "function": {"name": "look at", "arguments": "{oops"}},
        ],
    }}]});
    let mut unknown = failure("look");
    unknown.tool = None;
    let answers = vec![success("files__read_all", "ok", vec![]), unknown];
    vec![user("Go."), model(turn(Format::OpenAiChat, &body), "elsewhere", answers)]
}

fn check(dialect: &Dialect, key: &str, expected: Value) {
    let mut asked = request(foreign());
    asked.system = String::new();
    asked.tools = declared(dialect.tools_format(), Value::Null);
    let got = body(dialect, &asked);
    assert!(got[key] == expected, "\n{}\n{expected}", got[key]);
}

const OK: &str = r#"{"status":"success","result":"ok"}"#;

#[test]
fn to_chat() {
    let call = |id: &str, name: &str, args: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": args}});
    let mut expected = json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [
            call("c00001000", "files__read_all", "{\"n\":12345678901234567890}"),
            call("c00001001", "look_at_0639dccd", "{\"INVALID_JSON\":\"{oops\"}"),
        ]},
        {"role": "tool", "tool_call_id": "c00001000", "content": OK},
        {"role": "tool", "tool_call_id": "c00001001", "content": R1},
    ]);
    check(&Dialect::new(Server::OpenaiChat), "messages", expected.clone());
    // DeepSeek rejects a turn with calls that has no reasoning at all.
    expected[1]["reasoning_content"] = "".into();
    check(&Dialect::new(Server::Deepseek), "messages", expected);
}

#[test]
fn to_ollama() {
    check(
        &Dialect::new(Server::Ollama),
        "messages",
        json!([
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "Let me look.", "tool_calls": [
                {"id": "c00001000", "function": {"name": "files__read_all", "arguments": {"n": 12345678901234567890u64}}},
                {"id": "c00001001", "function": {"name": "look_at_0639dccd", "arguments": {"INVALID_JSON": "{oops"}}},
            ]},
            {"role": "tool", "tool_name": "files__read_all", "tool_call_id": "c00001000", "content": OK},
            {"role": "tool", "tool_name": "look_at_0639dccd", "tool_call_id": "c00001001", "content": R1},
        ]),
    );
}

#[test]
fn to_responses() {
    check(
        &Dialect::new(Server::OpenaiResponses),
        "input",
        json!([
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
            {"type": "message", "role": "assistant", "content": "Let me look."},
            {"type": "function_call", "call_id": "c00001000", "name": "files__read_all", "arguments": "{\"n\":12345678901234567890}"},
            {"type": "function_call", "call_id": "c00001001", "name": "look_at_0639dccd", "arguments": "{\"INVALID_JSON\":\"{oops\"}"},
            {"type": "function_call_output", "call_id": "c00001000", "output": OK},
            {"type": "function_call_output", "call_id": "c00001001", "output": R1},
        ]),
    );
}

#[test]
fn to_anthropic() {
    check(
        &Dialect::new(Server::Anthropic),
        "messages",
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Go."}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "c00001000", "name": "files__read_all", "input": {"n": 12345678901234567890u64}},
                {"type": "tool_use", "id": "c00001001", "name": "look_at_0639dccd", "input": {"INVALID_JSON": "{oops"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c00001000", "content": [{"type": "text", "text": OK}]},
                {"type": "tool_result", "tool_use_id": "c00001001", "content": [{"type": "text", "text": R1}], "is_error": true},
            ]},
        ]),
    );
}

#[test]
fn to_gemini() {
    check(
        &Dialect::new(Server::Gemini),
        "contents",
        json!([
            {"role": "user", "parts": [{"text": "Go."}]},
            {"role": "model", "parts": [
                {"text": "Let me look."},
                {"functionCall": {"name": "files__read_all", "args": {"n": 12345678901234567890u64}}, "thoughtSignature": "skip_thought_signature_validator"},
                {"functionCall": {"name": "look_at_0639dccd", "args": {"INVALID_JSON": "{oops"}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "files__read_all", "response": {"status": "success", "result": "ok"}}},
                {"functionResponse": {"name": "look_at_0639dccd", "response": {"status": "error", "error_type": "execution_error", "message": "no", "error": "no"}}},
            ]},
        ]),
    );
}

#[test]
fn to_text() {
    let said = "Let me look.\n<tool_call>\n{\"name\":\"files__read_all\",\"arguments\":{\"n\":12345678901234567890}}\n</tool_call>\n<tool_call>\n{\"name\":\"look_at_0639dccd\",\"arguments\":{\"INVALID_JSON\":\"{oops\"}}\n</tool_call>";
    let results = format!(
        "<tool_result name=\"files__read_all\" id=\"1\">\n{OK}\n</tool_result>\n<tool_result name=\"look_at_0639dccd\" id=\"2\">\n{R1}\n</tool_result>"
    );
    check(
        &Dialect::new(Server::Anthropic).with_text_tools(),
        "messages",
        json!([
            {"role": "user", "content": [{"type": "text", "text": "Go."}]},
            {"role": "assistant", "content": [{"type": "text", "text": said}]},
            {"role": "user", "content": [{"type": "text", "text": results}]},
        ]),
    );
}

/// A cancelled answer may contain half a call: only its text is history.
#[test]
fn an_incomplete_turn_is_only_its_words() {
    for server in Server::ALL {
        let dialect = Dialect::new(server);
        let mut messages = foreign();
        let Message::Model(stopped) = &mut messages[1] else { panic!("a model's message") };
        stopped.turn.complete = false;
        messages.push(user("Go on."));
        let got = body(&dialect, &request(messages)).to_string();
        assert!(got.contains("Let me look.") && !got.contains("look at"), "{got}");
        assert!(!got.contains("secret") && !got.contains("no\""), "{got}");
    }
}

/// A provider with another API, or a newer model, does not accept its own turn unchanged.
#[test]
fn own_turns_that_the_wire_would_refuse_are_rebuilt() {
    let native = json!({"message": {"role": "assistant", "content": "", "tool_calls": [
        {"function": {"name": "look", "arguments": {"at": "it"}}},
    ]}, "done": true});
    let own = |body: &Value, format| vec![user("Go."), model(turn(format, body), "here", vec![])];
    let asked = request(own(&native, Format::OpenAiChat));
    let got = body(&Dialect::new(Server::OpenaiCompatible), &asked);
    assert_eq!(got["messages"][2]["tool_calls"][0]["function"]["arguments"], "{\"at\":\"it\"}");
    assert_eq!(got["messages"][3]["tool_call_id"], "c00001000");
    assert!(got["messages"][3]["content"].as_str().unwrap().contains("not_run"));

    let unsigned = json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
        {"functionCall": {"name": "look", "args": {}}},
    ]}}]});
    let asked = request(own(&unsigned, Format::Gemini));
    let dialect = Dialect::new(Server::Gemini);
    let got = body(&dialect, &asked);
    assert!(got["contents"][1]["parts"][0].get("thoughtSignature").is_none(), "as it came");
    let newer = ModelInfo { model: "m-2".into(), ..info(Format::Gemini) };
    let got: Value = serde_json::from_slice(&render_body(&newer, &dialect, &asked)).unwrap();
    assert_eq!(
        got["contents"][1]["parts"][0]["thoughtSignature"],
        "skip_thought_signature_validator"
    );
    assert!(super::super::is_own(&info(Format::Gemini), &dialect, &asked.messages[1]));
    assert!(!super::super::is_own(&newer, &dialect, &asked.messages[1]));
}

/// A trimmed conversation does not begin with the model if the provider rejects that.
#[test]
fn the_user_speaks_first() {
    for (server, key) in [(Server::Anthropic, "messages"), (Server::Gemini, "contents")] {
        let dialect = Dialect::new(server);
        let got = body(&dialect, &request(foreign().split_off(1)));
        assert_eq!(got[key][0]["role"], "user", "{got}");
        assert!(got[key][0].to_string().contains("Earlier messages"), "{got}");
    }
}

/// A tool loop that began without thinking: Messages rejects thinking in the middle of it.
#[test]
fn thinking_waits_until_foreign_work_is_done() {
    let mut dialect = Dialect::new(Server::Anthropic);
    let thinking = json!({"type": "enabled", "budget_tokens": 2000});
    dialect.quirks.extra.insert("thinking".into(), thinking.clone());
    let mut messages = foreign();
    assert!(body(&dialect, &request(messages.clone())).get("thinking").is_none());
    messages.extend([said(Format::Anthropic, "Done."), user("Next.")]);
    assert_eq!(body(&dialect, &request(messages))["thinking"], thinking);
}
