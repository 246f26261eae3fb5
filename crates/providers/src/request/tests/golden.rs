//! Golden tests: one rich conversation in every format, compared literally.

use serde_json::json;
use toolcrib_core::Blob;

use super::*;
use crate::quirks::Server;

fn chat_turn() -> Value {
    json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": null, "refusal": null, "annotations": [], "reasoning_content": "Hm.",
        "tool_calls": [
            {"id": "call_a", "type": "function", "function": {"name": "look", "arguments": "{\"at\": \"it\"}"}},
            {"id": "call_b", "type": "function", "function": {"name": "read", "arguments": ""}},
        ],
    }}]})
}

fn check(dialect: &Dialect, request: &ModelRequest, expected: Value) {
    let got = body(dialect, request);
    assert!(got == expected, "\n{got}\n{expected}");
}

/// Compares the messages alone.
fn check_messages(dialect: &Dialect, request: &ModelRequest, key: &str, expected: Value) {
    let got = body(dialect, request);
    assert!(got[key] == expected, "\n{}\n{expected}", got[key]);
}

const URL: &str = "data:image/png;base64,YWJj";

#[test]
fn openai_chat() {
    let mut asked = request(rich(Format::OpenAiChat, &chat_turn()));
    asked.tools = declared(Format::OpenAiChat, json!([{"type": "function"}]));
    asked.max_output = Some(500);
    asked.temperature = Some(0.5);
    let image = json!({"type": "image_url", "image_url": {"url": URL}});
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_a", "type": "function", "function": {"name": "look", "arguments": "{\"at\": \"it\"}"}},
            {"id": "call_b", "type": "function", "function": {"name": "read", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "call_a", "content": R0},
        {"role": "tool", "tool_call_id": "call_b", "content": R1},
        {"role": "user", "content": [{"type": "text", "text": "From the result of call_a:"}, image]},
        {"role": "user", "content": "Hurry."},
        {"role": "assistant", "content": "A cat."},
        {"role": "user", "content": "Thanks."},
    ]);
    check(
        &Dialect::new(Server::OpenaiChat),
        &asked,
        json!({
            "model": "m-1", "max_completion_tokens": 500, "temperature": 0.5, "stream": true,
            "stream_options": {"include_usage": true}, "messages": messages,
            "tools": [{"type": "function"}],
        }),
    );
    asked.stream = false;
    let mut expected = json!({
        "model": "m-1", "max_tokens": 500, "temperature": 0.5, "stream": false,
        "messages": messages, "tools": [{"type": "function"}],
    });
    expected["messages"][2]["reasoning_content"] = "Hm.".into();
    check(&Dialect::new(Server::OpenaiCompatible), &asked, expected);
}

/// DeepSeek requires the reasoning of every turn with calls and accepts no images.
#[test]
fn deepseek() {
    let asked = request(rich(Format::OpenAiChat, &chat_turn()));
    let note = "[image/png, 3 bytes: not shown, because this format does not take it]";
    let no_picture = "[a picture or sound: not shown, because this model takes none]";
    check(
        &Dialect::new(Server::Deepseek),
        &asked,
        json!({
            "model": "m-1", "stream": true, "stream_options": {"include_usage": true}, "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": format!("What is this?\n{note}")},
                {"role": "assistant", "content": null, "reasoning_content": "Hm.", "tool_calls": [
                    {"id": "call_a", "type": "function", "function": {"name": "look", "arguments": "{\"at\": \"it\"}"}},
                    {"id": "call_b", "type": "function", "function": {"name": "read", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "call_a", "content": R0},
                {"role": "tool", "tool_call_id": "call_b", "content": R1},
                {"role": "user", "content": format!("From the result of call_a:\n{no_picture}")},
                {"role": "user", "content": "Hurry."},
                {"role": "assistant", "content": "A cat."},
                {"role": "user", "content": "Thanks."},
            ],
        }),
    );
}

/// A trimmed history begins with the model, and an own turn follows another own turn.
#[test]
fn roles_did_not_alternate_around_own_turns() {
    let said = || said(Format::OpenAiChat, "Wait.");
    let own = || {
        let answers = vec![success("look", "a cat", vec![]), failure("files__read_all")];
        model(turn(Format::OpenAiChat, &chat_turn()), "here", answers)
    };
    for (server, quirk) in [(Server::Vllm, true), (Server::Ollama, true), (Server::Ollama, false)] {
        for provider in ["here", "elsewhere"] {
            let mut dialect = Dialect::new(server);
            dialect.quirks.alternate = quirk;
            let mut asked =
                request(vec![said(), own(), queued("Hurry."), user("Now."), said(), said()]);
            for message in &mut asked.messages {
                if let Message::Model(message) = Arc::make_mut(message) {
                    message.provider = provider.into();
                }
            }
            let got = body(&dialect, &asked);
            let roles: Vec<&str> = got["messages"]
                .as_array()
                .unwrap()
                .iter()
                .map(|m| m["role"].as_str().unwrap())
                .collect();
            let joined = ["system", "user", "assistant", "tool", "tool", "user", "assistant"];
            assert_eq!(roles == joined, quirk, "{server:?} {provider} {roles:?}");
            if quirk {
                let first = &got["messages"][2];
                assert!(first["content"].as_str().unwrap().starts_with("Wait."), "{got}");
                assert_eq!(first["tool_calls"].as_array().unwrap().len(), 2, "{got}");
                assert_eq!(got["messages"][1]["content"], super::super::anthropic::OMITTED_NOTE);
                assert_eq!(got["messages"][5]["content"], "Hurry.\n\nNow.");
            }
        }
    }
}

/// Templates of local models require alternating roles.
#[test]
fn neighbours_of_one_role_are_joined() {
    let asked = request(rich(Format::OpenAiChat, &chat_turn()));
    let got = body(&Dialect::new(Server::LlamaCpp), &asked);
    let image = json!({"type": "image_url", "image_url": {"url": URL}});
    assert_eq!(
        got["messages"][5],
        json!({"role": "user", "content": [
            {"type": "text", "text": "From the result of call_a:"}, image, {"type": "text", "text": "Hurry."},
        ]})
    );
    assert_eq!(got["messages"][6]["role"], "assistant");
    let mut asked = request(vec![user("One."), user("Two.")]);
    asked.system = String::new();
    check_messages(
        &Dialect::new(Server::Vllm),
        &asked,
        "messages",
        json!([{"role": "user", "content": "One.\n\nTwo."}]),
    );
}

#[test]
fn ollama() {
    let turn = json!({"message": {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [
        {"function": {"name": "look", "arguments": {"at": "it"}}},
        {"id": "call_x", "function": {"name": "read", "arguments": {}}},
    ]}, "done": true, "done_reason": "stop"});
    let mut asked = request(rich(Format::OpenAiChat, &turn));
    asked.max_output = Some(100);
    asked.stream = false;
    asked.tools = declared(Format::OpenAiChat, json!([{"type": "function"}]));
    check(
        &Dialect::new(Server::Ollama),
        &asked,
        json!({
            "model": "m-1", "stream": false, "options": {"num_ctx": 16384, "num_predict": 100},
            "tools": [{"type": "function"}],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "What is this?", "images": ["YWJj"]},
                {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [
                    {"function": {"name": "look", "arguments": {"at": "it"}}},
                    {"id": "call_x", "function": {"name": "read", "arguments": {}}},
                ]},
                {"role": "tool", "tool_name": "look", "content": R0, "images": ["YWJj"]},
                {"role": "tool", "tool_name": "read", "tool_call_id": "call_x", "content": R1},
                {"role": "user", "content": "Hurry."},
                {"role": "assistant", "content": "A cat."},
                {"role": "user", "content": "Thanks."},
            ],
        }),
    );
}

fn responses_turn() -> Value {
    json!({"object": "response", "status": "completed", "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "look", "arguments": "{\"at\":\"it\"}", "status": "completed"},
        {"type": "function_call", "id": "fc_2", "call_id": "call_b", "name": "read", "arguments": "{}", "status": "completed"},
    ]})
}

#[test]
fn openai_responses() {
    let mut asked = request(rich(Format::OpenAiResponses, &responses_turn()));
    asked.tools = declared(Format::OpenAiResponses, json!([{"type": "function"}]));
    asked.max_output = Some(500);
    let image = json!({"type": "input_image", "detail": "auto", "image_url": URL});
    check(
        &Dialect::new(Server::OpenaiResponses),
        &asked,
        json!({
            "model": "m-1", "instructions": "Be brief.", "max_output_tokens": 500, "stream": true,
            "store": false, "include": ["reasoning.encrypted_content"], "tools": [{"type": "function"}],
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is this?"}, image]},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
                {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "look", "arguments": "{\"at\":\"it\"}", "status": "completed"},
                {"type": "function_call", "id": "fc_2", "call_id": "call_b", "name": "read", "arguments": "{}", "status": "completed"},
                {"type": "function_call_output", "call_id": "call_a", "output": [{"type": "input_text", "text": R0}, image]},
                {"type": "function_call_output", "call_id": "call_b", "output": R1},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hurry."}]},
                {"type": "message", "id": "msg_9", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "A cat."}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Thanks."}]},
            ],
        }),
    );
}

/// The provider does not know reasoning that is neither stored nor encrypted, nor ids that refer to
/// it.
#[test]
fn reasoning_that_the_provider_forgot_is_left_out() {
    let mut turn = responses_turn();
    turn["output"][0].as_object_mut().unwrap().remove("encrypted_content");
    let asked = request(rich(Format::OpenAiResponses, &turn));
    let mut dialect = Dialect::new(Server::OpenaiResponses);
    let got = body(&dialect, &asked);
    assert_eq!(
        got["input"][1],
        json!({"type": "function_call", "call_id": "call_a", "name": "look", "arguments": "{\"at\":\"it\"}", "status": "completed"})
    );
    dialect.quirks.store = true;
    let got = body(&dialect, &asked);
    assert_eq!(got["input"][1]["type"], "reasoning");
    assert_eq!(got["input"][2]["id"], "fc_1");
    assert!(got.get("include").is_none());
}

#[test]
fn models_that_do_not_reason_are_not_asked_for_it() {
    for (model, asked) in [
        ("gpt-4.1", false),
        ("openai/gpt-4o-mini", false),
        ("gpt-5-chat-latest", false),
        ("gpt-5.1", true),
        ("o4-mini", true),
        ("gpt-oss-120b", true),
    ] {
        let info = ModelInfo { model: model.into(), ..info(Format::OpenAiResponses) };
        let dialect = Dialect::new(Server::OpenaiResponses);
        let bytes = render_body(&info, &dialect, &request(vec![user("Hi.")]));
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(body.get("include").is_some(), asked, "{model}");
    }
}

fn anthropic_turn() -> Value {
    json!({"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "toolu_a", "name": "look", "input": {"at": "it"}},
        {"type": "tool_use", "id": "toolu_b", "name": "read", "input": {}},
    ]})
}

#[test]
fn anthropic() {
    let mut asked = request(rich(Format::Anthropic, &anthropic_turn()));
    asked.tools = declared(Format::Anthropic, json!([{"name": "look"}]));
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "YWJj"}});
    let expected = json!({
        "model": "m-1", "max_tokens": 8192, "stream": true, "system": "Be brief.",
        "tools": [{"name": "look"}],
        "messages": [
            {"role": "user", "content": [image, {"type": "text", "text": "What is this?"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "tool_use", "id": "toolu_a", "name": "look", "input": {"at": "it"}},
                {"type": "tool_use", "id": "toolu_b", "name": "read", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_a", "content": [{"type": "text", "text": R0}, image]},
                {"type": "tool_result", "tool_use_id": "toolu_b", "content": [{"type": "text", "text": R1}], "is_error": true},
                {"type": "text", "text": "Hurry."},
            ]},
            {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]},
            {"role": "user", "content": [{"type": "text", "text": "Thanks."}]},
        ],
    });
    check(&Dialect::new(Server::Anthropic), &asked, expected.clone());
    // The last request of a run has no tools, but Messages rejects calls without declared tools.
    asked.tools = None;
    let mut without = expected;
    without["tools"] = json!([
        {"name": "look", "description": "", "input_schema": {"type": "object"}},
        {"name": "read", "description": "", "input_schema": {"type": "object"}},
    ]);
    without["tool_choice"] = json!({"type": "none"});
    check(&Dialect::new(Server::Anthropic), &asked, without);
}

#[test]
fn anthropic_cache_marks() {
    let mut dialect = Dialect::new(Server::Anthropic);
    dialect.quirks.cache_control = true;
    let got = body(&dialect, &request(rich(Format::Anthropic, &anthropic_turn())));
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        got["system"][0],
        json!({"type": "text", "text": "Be brief.", "cache_control": mark})
    );
    assert_eq!(got["messages"][4]["content"][0]["cache_control"], mark);
    assert_eq!(got.to_string().matches("cache_control").count(), 2);
}

#[test]
fn a_paused_turn_goes_back_as_it_is() {
    let content = json!([
        {"type": "text", "text": "Searching."},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    ]);
    let paused = json!({"type": "message", "role": "assistant", "stop_reason": "pause_turn", "content": content});
    let mut asked =
        request(vec![user("Go."), model(turn(Format::Anthropic, &paused), "here", vec![])]);
    asked.system = String::new();
    let dialect = Dialect::new(Server::Anthropic);
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {"role": "assistant", "content": content},
    ]);
    check_messages(&dialect, &asked, "messages", messages);
    // Cut in the middle of the search, the turn would be rejected; its text stays.
    let mut cut = paused;
    cut["stop_reason"] = "max_tokens".into();
    let asked = request(vec![user("Go."), model(turn(Format::Anthropic, &cut), "here", vec![])]);
    let got = body(&dialect, &asked);
    assert_eq!(got["messages"][1]["content"], json!([{"type": "text", "text": "Searching."}]));
}

fn gemini_turn() -> Value {
    json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
        {"text": "Hm.", "thought": true},
        {"functionCall": {"id": "fc-1", "name": "look", "args": {"at": "it"}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"id": "fc-2", "name": "read", "args": {}}},
    ]}}]})
}

#[test]
fn gemini() {
    let mut asked = request(rich(Format::Gemini, &gemini_turn()));
    asked.tools = declared(Format::Gemini, json!([{"functionDeclarations": []}]));
    asked.max_output = Some(500);
    asked.temperature = Some(1.0);
    let inline = json!({"inlineData": {"mimeType": "image/png", "data": "YWJj"}});
    check(
        &Dialect::new(Server::Gemini),
        &asked,
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "generationConfig": {"temperature": 1.0, "maxOutputTokens": 500},
            "tools": [{"functionDeclarations": []}],
            "contents": [
                {"role": "user", "parts": [{"text": "What is this?"}, inline]},
                {"role": "model", "parts": [
                    {"text": "Hm.", "thought": true},
                    {"functionCall": {"id": "fc-1", "name": "look", "args": {"at": "it"}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"id": "fc-2", "name": "read", "args": {}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "fc-1", "name": "look", "response": {"status": "success", "result": "a cat"}, "parts": [inline]},
                     "thoughtSignature": "c2ln"},
                    {"functionResponse": {"id": "fc-2", "name": "read",
                     "response": {"status": "error", "error_type": "execution_error", "message": "no", "error": "no"}}},
                ]},
                {"role": "user", "parts": [{"text": "Hurry."}]},
                {"role": "model", "parts": [{"text": "A cat."}]},
                {"role": "user", "parts": [{"text": "Thanks."}]},
            ],
        }),
    );
}

/// A server without function calling: the declarations are in the prompt, calls and results are
/// text.
#[test]
fn text_tools() {
    let call = "Let me look.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"it\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"read\", \"arguments\": {}}\n</tool_call>";
    let mut asked = request(rich(Format::Text, &json!(call)));
    asked.tools = declared(Format::Text, json!("You can call tools."));
    let note = "[image/png, 3 bytes: not shown, because this format does not take it]";
    let results = format!(
        "<tool_result name=\"look\" id=\"1\">\n{R0}\n{note}\n</tool_result>\n<tool_result name=\"read\" id=\"2\">\n{R1}\n</tool_result>"
    );
    let image = json!({"type": "image_url", "image_url": {"url": URL}});
    check(
        &Dialect::new(Server::OpenaiCompatible).with_text_tools(),
        &asked,
        json!({"model": "m-1", "stream": true, "messages": [
            {"role": "system", "content": "Be brief.\n\nYou can call tools."},
            {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
            {"role": "assistant", "content": call},
            {"role": "user", "content": results},
            {"role": "user", "content": "Hurry."},
            {"role": "assistant", "content": "A cat."},
            {"role": "user", "content": "Thanks."},
        ]}),
    );
}

#[test]
fn the_configuration_has_the_last_word() {
    let mut dialect = Dialect::new(Server::Gemini);
    dialect.quirks.extra = json!({
        "generationConfig": {"thinkingConfig": {"includeThoughts": true}}, "contents": [],
    })
    .as_object()
    .cloned()
    .unwrap();
    let mut asked = request(vec![user("Hi.")]);
    asked.max_output = Some(5);
    check(
        &dialect,
        &asked,
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [],
            "generationConfig": {"maxOutputTokens": 5, "thinkingConfig": {"includeThoughts": true}},
        }),
    );
    let mut dialect = Dialect::new(Server::OpenaiCompatible);
    dialect.quirks.temperature = Some(false);
    dialect.quirks.parallel_tool_calls = Some(false);
    dialect.quirks.system = crate::quirks::SystemRole::Developer;
    asked.temperature = Some(0.1);
    asked.tools = declared(Format::OpenAiChat, json!([{}]));
    check(
        &dialect,
        &asked,
        json!({"model": "m-1", "max_tokens": 5, "stream": true, "parallel_tool_calls": false, "tools": [{}],
            "messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi."}]}),
    );
}

/// Nothing that a provider rejects as empty is sent.
#[test]
fn empty_messages_are_left_out() {
    let svg = Blob { media_type: "image/svg+xml".into(), data: vec![1] };
    for server in Server::ALL {
        let dialect = Dialect::new(server);
        let mut asked =
            request(vec![user(" "), said(dialect.format, ""), user_with("", vec![svg.clone()])]);
        asked.system = "\n".into();
        asked.tools = declared(dialect.format, Value::Null);
        let got = body(&dialect, &asked);
        let messages = ["messages", "input", "contents"].iter().find_map(|key| got.get(*key));
        let messages = messages.unwrap().as_array().unwrap();
        assert_eq!(messages.len(), 1, "{server:?}: {got}");
        assert!(messages[0].to_string().contains("image/svg+xml, 1 bytes: not shown"), "{got}");
        for key in ["tools", "system", "instructions", "systemInstruction"] {
            assert!(got.get(key).is_none(), "{server:?}: {got}");
        }
    }
}

/// Stored results of provider-defined calls render like fresh outcomes.
#[test]
fn stored_answers_of_provider_defined_calls() {
    let turn_body = json!({"object": "response", "status": "completed", "output": [
        {"type": "apply_patch_call", "id": "ap", "call_id": "c1", "status": "completed", "operation": {"type": "create_file", "path": "a", "diff": "+x"}},
        {"type": "shell_call", "id": "sh", "call_id": "c2", "action": {"commands": ["ls"]}},
        {"type": "shell_call", "id": "sh", "call_id": "c3", "action": {"commands": ["ls"]}},
    ]});
    let mut shell = success("look", "", vec![]);
    shell.wire =
        json!({"status": "success", "result": {"stdout": "a\n", "stderr": "", "exit_code": 3}});
    let mut late = failure("look");
    late.kind = Some(OutcomeKind::TimedOut);
    let answers = vec![success("look", "ok", vec![]), shell, late];
    let asked = request(vec![
        user("Go."),
        model(turn(Format::OpenAiResponses, &turn_body), "here", answers),
    ]);
    let got = body(&Dialect::new(Server::OpenaiResponses), &asked);
    assert_eq!(got["input"][4]["status"], "completed");
    let outcome = json!({"type": "exit", "exit_code": 3});
    assert_eq!(
        got["input"][5]["output"],
        json!([{"stdout": "a\n", "stderr": "", "outcome": outcome}])
    );
    assert_eq!(got["input"][6]["output"][0]["outcome"], json!({"type": "timeout"}));
}
