//! Edge cases of provider formats, from a response to the messages that are returned.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::ToolOutput;
use toolcrib_providers::Format;
use toolcrib_testkit::ScriptedTool;

use crate::fixture::{Fixture, FixtureBuilder};
use crate::response_bodies::{anthropic, chat, gemini, responses, sse};
use crate::test_case::{TestCase, case, run_cases};

#[test]
fn provider_edges() {
    let tables = [openai(), anthropic_rows(), gemini_rows(), compatible(), bad_input()];
    run_cases(tables.into_iter().flatten().collect());
}

/// Creates a fixture with two files, and a tool that records its arguments.
async fn world(start: FixtureBuilder) -> (Fixture, Arc<ScriptedTool>) {
    let tool = Arc::new(ScriptedTool::new("work"));
    (start.file("a.txt", "A").file("b.txt", "B").tool(&tool).open().await, tool)
}

async fn exec(start: FixtureBuilder, format: Format, body: impl AsRef<[u8]>) -> Value {
    world(start).await.0.exec(format, body).await
}

fn delta(delta: Value, finish: Option<&str>) -> Value {
    json!({
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    })
}

fn fragment(index: u64, more: Value) -> Value {
    let mut call = more;
    call["index"] = json!(index);
    delta(json!({"tool_calls": [call]}), None)
}

/// Returns a Chat stream with two calls whose pieces alternate.
fn interleaved() -> Vec<Value> {
    vec![
        delta(json!({"role": "assistant"}), None),
        fragment(
            0,
            json!({"id": "c0", "type": "function", "function": {"name": "read_file", "arguments": "{\"pa"}}),
        ),
        fragment(
            1,
            json!({"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": ""}}),
        ),
        fragment(0, json!({"function": {"arguments": "th\":\"a."}})),
        fragment(1, json!({"function": {"arguments": "{\"path\":\"b.txt\"}"}})),
        fragment(0, json!({"function": {"arguments": "txt\"}"}})),
        delta(json!({}), Some("tool_calls")),
    ]
}

fn with_finish(body: &str, from: &str, to: &str) -> String {
    let changed = body.replace(from, to);
    assert_ne!(changed, body);
    changed
}

fn openai() -> Vec<TestCase> {
    vec![
        case(
            "OpenAI: fragments of calls interleaved by index",
            async |s| exec(s, Format::OpenAiChat, sse(&interleaved()) + "data: [DONE]\n\n").await,
            json!({
                "complete": true,
                "calls": [{"result": "A"}, {"result": "B"}],
                "messages": [{"tool_call_id": "c0"}, {"tool_call_id": "c1"}],
            }),
        ),
        case(
            "OpenAI: empty arguments \"\" mean {}",
            async |s| {
                let (w, tool) = world(s).await;
                w.exec(Format::OpenAiChat, chat(&[("1", "work", json!(""))])).await;
                json!(tool.seen())
            },
            json!([{}]),
        ),
        case(
            "OpenAI: two different calls with one id: the second is answered, not run",
            async |s| {
                exec(
                    s,
                    Format::OpenAiChat,
                    chat(&[
                        ("1", "read_file", json!({"path": "a.txt"})),
                        ("1", "write_file", json!({"path": "c.txt", "content": "x"})),
                    ]),
                )
                .await
            },
            json!({
                "calls": [
                    {"result": "A"},
                    {"error_type": "validation_error", "message": "Two different calls carried the same id…"},
                ],
                "messages": [{"tool_call_id": "1"}, {"tool_call_id": "call_2"}],
            }),
        ),
        case(
            "OpenAI: the same call twice under one id counts once, also in the replayed turn",
            async |s| {
                let (w, tool) = world(s).await;
                let reply = w
                    .exec(
                        Format::OpenAiChat,
                        chat(&[("1", "work", json!({"n": 1})), ("1", "work", json!({"n": 1}))]),
                    )
                    .await;
                json!({
                    "runs": tool.runs(),
                    "messages": reply["messages"],
                    "replayed": reply["assistant"]["tool_calls"].as_array().unwrap().len(),
                })
            },
            json!({"runs": 1, "messages": [{"tool_call_id": "1"}], "replayed": 1}),
        ),
        case(
            "OpenAI: finish_reason length inside arguments: an error result, and the complete call before it runs",
            async |s| {
                let (w, tool) = world(s).await;
                let body = chat(&[
                    ("1", "read_file", json!({"path": "a.txt"})),
                    ("2", "work", json!("{\"path\":\"c.txt\",\"conten")),
                ]);
                let reply = w
                    .exec(
                        Format::OpenAiChat,
                        with_finish(
                            &body,
                            "\"finish_reason\":\"tool_calls\"",
                            "\"finish_reason\":\"length\"",
                        ),
                    )
                    .await;
                json!([reply["messages"], tool.runs()])
            },
            json!([[
                {"tool_call_id": "1", "content": {"json": {"result": "A"}}},
                {
                    "tool_call_id": "2",
                    "content": {
                        "json": {"status": "error", "error_type": "validation_error", "message": "…not run…"},
                    },
                },
            ], 0]),
        ),
        case(
            "OpenAI: strict mode needs all-required, and null comes back as absent",
            async |s| {
                let schema = json!({
                    "type": "object",
                    "required": ["a"],
                    "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
                });
                let tool = Arc::new(ScriptedTool::new("strict_one").takes(schema));
                let w = s.tool(&tool).open().await;
                let declared = w.toolcrib.declare(Format::OpenAiChat, &Arc::default(), true).value;
                let own = declared
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|t| t["function"]["name"] == "strict_one")
                    .unwrap()["function"]["parameters"]["required"]
                    .clone();
                let said = w
                    .exec(
                        Format::OpenAiChat,
                        chat(&[("1", "strict_one", json!({"a": "x", "b": null}))]),
                    )
                    .await["calls"][0]["status"]
                    .clone();
                json!([own, said, tool.seen()[0].get("b")])
            },
            json!([["a", "b"], "success", null]),
        ),
        case(
            "OpenAI Responses: results carry call_id, not the item's id; the items are replayed with theirs",
            async |s| {
                exec(
                    s,
                    Format::OpenAiResponses,
                    responses(&[("call_a", "read_file", json!({"path": "a.txt"}))]),
                )
                .await
            },
            json!({
                "messages": [
                    {"type": "function_call_output", "call_id": "call_a", "output": {"json": {"result": "A"}}},
                ],
                "assistant": [{"id": "fc_call_a", "call_id": "call_a"}],
            }),
        ),
        case(
            "OpenAI Responses: a reasoning item is replayed as it came",
            async |s| {
                let body = json!({"object": "response", "status": "completed", "output": [
                    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
                    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "work", "arguments": "{}"},
                ]});
                exec(s, Format::OpenAiResponses, body.to_string()).await["assistant"].clone()
            },
            json!([
                {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA"},
                {"type": "function_call"},
            ]),
        ),
    ]
}

fn anthropic_rows() -> Vec<TestCase> {
    let body = |content: Value, stop: &str| {
        json!({
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_reason": stop,
            "content": content,
        })
        .to_string()
    };
    vec![
        case(
            "Anthropic: all results of a batch in one user message, first in the content, is_error on failures only",
            async |s| {
                exec(
                    s,
                    Format::Anthropic,
                    anthropic(&[
                        ("t1", "read_file", json!({"path": "a.txt"})),
                        ("t2", "read_file", json!({"path": "gone"})),
                        ("t3", "nonsense", json!({})),
                    ]),
                )
                .await["messages"]
                    .clone()
            },
            json!([{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": null},
                {"type": "tool_result", "tool_use_id": "t2", "is_error": true},
                {"type": "tool_result", "tool_use_id": "t3", "is_error": true},
            ]}]),
        ),
        case(
            "Anthropic: thinking blocks with their signature are echoed",
            async move |s| {
                let content = json!([
                    {"type": "thinking", "thinking": "First the file.", "signature": "EqMB"},
                    {"type": "redacted_thinking", "data": "Zm9v"},
                    {"type": "tool_use", "id": "t1", "name": "work", "input": {}},
                ]);
                exec(s, Format::Anthropic, body(content, "tool_use")).await["assistant"].clone()
            },
            json!({"role": "assistant", "content": [
                {
                    "type": "thinking",
                    "thinking": "First the file.",
                    "signature": "EqMB",
                }, {"type": "redacted_thinking", "data": "Zm9v"}, {"type": "tool_use", "id": "t1"},
            ]}),
        ),
        case(
            "Anthropic: empty assistant text blocks are not sent back",
            async move |s| {
                let content = json!([
                    {"type": "text", "text": ""},
                    {"type": "tool_use", "id": "t1", "name": "work", "input": {}},
                ]);
                exec(s, Format::Anthropic, body(content, "tool_use")).await["assistant"]["content"]
                    .clone()
            },
            json!([{"type": "tool_use", "id": "t1"}]),
        ),
        case(
            "Anthropic: max_tokens inside tool_use: that call is never run",
            async move |s| {
                let (w, tool) = world(s).await;
                let content = json!([{"type": "tool_use", "id": "t1", "name": "work", "input": {"path": "a"}}]);
                json!([
                    w.exec(Format::Anthropic, body(content, "max_tokens")).await["messages"],
                    tool.runs()
                ])
            },
            json!([
                [
                    {
                        "content": [
                            {"tool_use_id": "t1", "is_error": true, "content": [{"text": {"json": {"message": "…not run…"}}}]},
                        ],
                    },
                ],
                0,
            ]),
        ),
    ]
}

fn gemini_rows() -> Vec<TestCase> {
    let function = async |s: FixtureBuilder, schema: Value| {
        let tool = Arc::new(ScriptedTool::new("shaped").takes(schema));
        let w = s.tool(&tool).open().await;
        let declared = w.toolcrib.declare(Format::Gemini, &Arc::default(), false);
        let tools = declared.value[0]["functionDeclarations"].as_array().unwrap();
        let warned = declared.warnings.iter().any(|warning| warning.tool == "shaped");
        json!({"tool": tools.iter().find(|t| t["name"] == "shaped"), "warned": warned})
    };
    vec![
        case(
            "Gemini: upper-case types, items default, no additionalProperties",
            async move |s| {
                function(
                    s,
                    json!({
                        "type": "object",
                        "additionalProperties": false,
                        "properties": {"tags": {"type": "array"}, "n": {"type": "integer"}},
                    }),
                )
                .await
            },
            json!({
                "tool": {
                    "parameters": {
                        "type": "OBJECT",
                        "additionalProperties": null,
                        "properties": {
                            "tags": {"type": "ARRAY", "items": {"type": "STRING"}},
                            "n": {"type": "INTEGER"},
                        },
                    },
                },
            }),
        ),
        case(
            "Gemini: unsupported keywords go into the description, with a warning",
            async move |s| {
                let got = function(
                    s,
                    json!({
                        "type": "object",
                        "properties": {"n": {"type": "integer", "multipleOf": 5}},
                    }),
                )
                .await;
                json!({"warned": got["warned"], "n": got["tool"]["parameters"]["properties"]["n"]})
            },
            json!({"warned": true, "n": {"multipleOf": null, "description": "…5…"}}),
        ),
        case(
            "Gemini: thoughtSignature round trip, with the call and with its result",
            async |s| {
                let body = json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
                    {"functionCall": {"id": "f1", "name": "work", "args": {}}, "thoughtSignature": "CiQB"},
                ]}}]});
                exec(s, Format::Gemini, body.to_string()).await
            },
            json!({
                "assistant": {
                    "role": "model",
                    "parts": [{"functionCall": {"id": "f1"}, "thoughtSignature": "CiQB"}],
                },
                "messages": [
                    {
                        "role": "user",
                        "parts": [
                            {"functionResponse": {"id": "f1", "name": "work"}, "thoughtSignature": "CiQB"},
                        ],
                    },
                ],
            }),
        ),
        case(
            "Gemini: missing call ids: paired by name and order",
            async |s| {
                exec(
                    s,
                    Format::Gemini,
                    gemini(&[
                        ("", "read_file", json!({"path": "a.txt"})),
                        ("", "read_file", json!({"path": "b.txt"})),
                    ]),
                )
                .await["messages"]
                    .clone()
            },
            json!([{"parts": [
                {"functionResponse": {"id": null, "name": "read_file", "response": {"result": "A"}}},
                {"functionResponse": {"id": null, "name": "read_file", "response": {"result": "B"}}},
            ]}]),
        ),
        case(
            "Gemini: the function response is an object, whatever the tool returned",
            async |s| {
                let list = Arc::new(
                    ScriptedTool::new("list_rows").returns(ToolOutput::structured(json!([1, 2]))),
                );
                s.tool(&list)
                    .open()
                    .await
                    .exec(Format::Gemini, gemini(&[("", "list_rows", json!({}))]))
                    .await["messages"]
                    .clone()
            },
            json!([{"parts": [{"functionResponse": {"response": {"status": "success", "result": [1, 2]}}}]}]),
        ),
        case(
            "Gemini: MALFORMED_FUNCTION_CALL runs nothing",
            async |s| {
                let (w, tool) = world(s).await;
                let body = with_finish(
                    &gemini(&[("f", "work", json!({}))]),
                    "\"STOP\"",
                    "\"MALFORMED_FUNCTION_CALL\"",
                );
                json!([w.exec(Format::Gemini, body).await["calls"], tool.runs()])
            },
            json!([[{"status": "error", "message": "…malformed…"}], 0]),
        ),
    ]
}

fn compatible() -> Vec<TestCase> {
    let message = |message: Value| {
        json!({"choices": [{"finish_reason": "tool_calls", "message": message}]}).to_string()
    };
    vec![
        case(
            "Compatible: arguments as object instead of string, missing ids",
            async move |s| {
                let calls = json!([
                    {"function": {"name": "read_file", "arguments": {"path": "a.txt"}}},
                    {"function": {"name": "read_file", "arguments": {"path": "b.txt"}}},
                ]);
                exec(
                    s,
                    Format::OpenAiChat,
                    message(json!({"role": "assistant", "tool_calls": calls})),
                )
                .await
            },
            json!({
                "messages": [
                    {"tool_call_id": "call_1", "content": {"json": {"result": "A"}}},
                    {"tool_call_id": "call_2", "content": {"json": {"result": "B"}}},
                ],
                "assistant": {"tool_calls": [{"id": "call_1"}, {"id": "call_2"}]},
            }),
        ),
        case(
            "Compatible: reasoning content is kept for vendors that want it back",
            async move |s| {
                let calls = json!([
                    {"id": "1", "type": "function", "function": {"name": "work", "arguments": "{}"}},
                ]);
                exec(
                    s,
                    Format::OpenAiChat,
                    message(json!({
                        "role": "assistant",
                        "content": "",
                        "reasoning_content": "Hm.",
                        "tool_calls": calls,
                    })),
                )
                .await["assistant"]
                    .clone()
            },
            json!({"reasoning_content": "Hm."}),
        ),
        case(
            "Compatible: arguments that are no JSON cannot break the next request",
            async |s| exec(s, Format::OpenAiChat, chat(&[("1", "work", json!("{path: }}"))])).await,
            json!({
                "calls": [{"error_type": "validation_error"}],
                "assistant": {"tool_calls": [{"function": {"arguments": "{\"INVALID_JSON\":…}"}}]},
            }),
        ),
        case(
            "Compatible: a model without tools support: the server's words, and nothing runs",
            async |s| {
                exec(s, Format::OpenAiChat, r#"{"error":{"message":"this model does not support tools","type":"invalid_request_error"}}"#).await
            },
            json!({"error": "…this model does not support tools…"}),
        ),
        case(
            "Ollama: arguments are objects, there are no ids",
            async |s| {
                let calls =
                    json!([{"function": {"name": "read_file", "arguments": {"path": "a.txt"}}}]);
                exec(
                    s,
                    Format::OpenAiChat,
                    json!({
                        "model": "m",
                        "done": true,
                        "done_reason": "stop",
                        "message": {"role": "assistant", "content": "", "tool_calls": calls},
                    })
                    .to_string(),
                )
                .await["messages"]
                    .clone()
            },
            json!([
                {
                    "role": "tool",
                    "tool_name": "read_file",
                    "tool_call_id": null,
                    "content": {"json": {"result": "A"}},
                },
            ]),
        ),
        case(
            "names longer than a provider takes come back to their tool",
            async |s| {
                let name =
                    toolcrib_core::remote_name("a.server.with/odd characters", &"long_".repeat(20));
                let tool = Arc::new(ScriptedTool::new("x").spec(|spec| spec.name = name));
                let w = s.tool(&tool).open().await;
                let declared = w.toolcrib.declare(Format::OpenAiChat, &Arc::default(), false).value;
                let wire = declared.as_array().unwrap().last().unwrap()["function"]["name"]
                    .as_str()
                    .unwrap()
                    .to_owned();
                let said =
                    w.exec(Format::OpenAiChat, chat(&[("1", &wire, json!({}))])).await["calls"][0]
                        ["status"]
                        .clone();
                json!([wire.len() <= 64, said, tool.runs()])
            },
            json!([true, "success", 1]),
        ),
    ]
}

fn bad_input() -> Vec<TestCase> {
    let cut = |events: usize| sse(&interleaved()[..events]);
    vec![
        case(
            "no body at all",
            async |s| exec(s, Format::OpenAiChat, "  \n").await,
            json!({"error": "the response body is empty"}),
        ),
        case(
            "a body of another provider",
            async |s| exec(s, Format::Gemini, anthropic(&[("t1", "work", json!({}))])).await,
            json!({"error": "the response body is not gemini: it looks like anthropic…"}),
        ),
        case(
            "a page of a gateway",
            async |s| {
                exec(s, Format::Anthropic, "<!doctype html><title>502 Bad Gateway</title>").await
            },
            json!({"error": "…HTML page…502 Bad Gateway…"}),
        ),
        case(
            "a body that nobody's format fits",
            async |s| world(s).await.0.exec(None, r#"{"hello": "world"}"#).await,
            json!({"error": "the format of this response is not recognised…"}),
        ),
        case(
            "every format is detected",
            async |s| {
                let (w, _) = world(s).await;
                let calls = [("i1", "work", json!({}))];
                let mut found = Vec::new();
                for body in [
                    chat(&calls),
                    responses(&calls),
                    anthropic(&calls),
                    gemini(&calls),
                    sse(&interleaved()),
                    crate::response_bodies::tagged(&calls),
                ] {
                    found.push(w.exec(None, body).await["format"].clone());
                }
                json!(found)
            },
            json!([
                "openai-chat",
                "openai-responses",
                "anthropic",
                "gemini",
                "openai-chat",
                "text"
            ]),
        ),
        case(
            "a stream cut inside a call's arguments: that call is never run",
            async move |s| {
                let (w, tool) = world(s).await;
                let reply = w.exec(Format::OpenAiChat, cut(4).replace("read_file", "work")).await;
                json!([reply, tool.runs()])
            },
            json!([
                {
                    "complete": false,
                    "calls": [{"error_type": "validation_error"}, {"error_type": "validation_error"}],
                    "messages": [{"tool_call_id": "c0"}, {"tool_call_id": "c1"}],
                },
                0,
            ]),
        ),
        case(
            "half a stream: calls that look complete are not run either",
            async move |s| {
                let (w, tool) = world(s).await;
                let reply = w.exec(Format::OpenAiChat, cut(6).replace("read_file", "work")).await;
                json!([reply["complete"], reply["calls"], tool.runs()])
            },
            json!([false, [{"message": "…not run…"}, {"message": "…not run…"}], 0]),
        ),
        case(
            "a result too large for any format arrives bounded",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("huge")
                        .returns(ToolOutput::text("\u{1}\"\\".repeat(500_000))),
                );
                let w = s.tool(&tool).open().await;
                let calls = [("i1", "huge", json!({}))];
                let mut sizes = Vec::new();
                for (format, body) in [
                    (Format::OpenAiChat, chat(&calls)),
                    (Format::OpenAiResponses, responses(&calls)),
                    (Format::Anthropic, anthropic(&calls)),
                    (Format::Gemini, gemini(&calls)),
                ] {
                    let messages = w.exec(format, body).await["messages"].to_string();
                    sizes.push(messages.contains("read_artifact") && messages.len() < 200_000);
                }
                json!(sizes)
            },
            json!([true, true, true, true]),
        ),
    ]
}
