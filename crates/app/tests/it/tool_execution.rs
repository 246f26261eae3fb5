//! Tool definitions and settings, execution, `fetch_url`, truncation, repeats, and the selection of
//! tools for models.

mod fetch_url;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::{
    Batch, Call, Invoker as _, ModelCapabilities, Origin, RunLimits, ToolOutput, ViewRequest,
};
use toolcrib_providers::Format;
use toolcrib_testkit::ScriptedTool;

use crate::fixture::{Fixture, FixtureBuilder};
use crate::response_bodies::{anthropic, chat, gemini, tagged};
use crate::test_case::{TestCase, case, run_cases};

#[test]
fn tool_execution_cases() {
    let tables = [
        concepts(),
        executor(),
        fetch_url::fetching(),
        fetch_url::blocking(),
        flow(),
        guards(),
        enablement(),
    ];
    run_cases(tables.into_iter().flatten().collect());
}

fn concepts() -> Vec<TestCase> {
    vec![
        case(
            "Tool Schema: name, description, parameters with type, description, required flag",
            async |s| {
                let declared = s
                    .open()
                    .await
                    .toolcrib
                    .declare(Format::OpenAiChat, &Arc::default(), false)
                    .value;
                let lacking: Vec<Value> = declared
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(|tool| {
                        let tool = &tool["function"];
                        let described =
                            |text: &Value| text.as_str().is_some_and(|text| text.len() > 10);
                        let properties = tool["parameters"]["properties"].as_object().unwrap();
                        let all = described(&tool["description"])
                            && properties.values().all(|p| described(&p["description"]));
                        (!all).then(|| tool["name"].clone())
                    })
                    .collect();
                json!({"tools": declared.as_array().unwrap().len(), "lacking": lacking})
            },
            json!({"tools": 44, "lacking": []}),
        ),
        case(
            "Tool Info: id, name and description with localised resources, enabled state, for all tools whether enabled or not",
            async |s| {
                let w = s.open().await;
                w.toolcrib.catalog().set_enabled("read_file", false).unwrap();
                let infos = w.toolcrib.infos();
                json!({
                    "all": infos.len(),
                    "off": infos.iter().find(|info| info.id.as_str() == "read_file"),
                    "on": infos.iter().find(|info| info.id.as_str() == "write_file"),
                })
            },
            json!({
                "all": 57,
                "off": {
                    "id": "read_file", "title": "Read file", "title_key": "tool.read_file.title", "enabled": false,
                    "description": "Read a text file…", "description_key": "tool.read_file.description", "status": "disabled",
                },
                "on": {
                    "id": "write_file",
                    "enabled": true,
                    "status": "system",
                    "source": "builtin",
                    "tier": "first_party",
                },
            }),
        ),
        case(
            "get_local_time: Get the current local date and time (Enabled)",
            async |s| {
                let said = s.call("get_local_time", json!({})).await["result"].clone();
                let offset = jiff::Zoned::now().strftime("%:z").to_string();
                json!([said, said.as_str().unwrap().ends_with(&offset)])
            },
            json!(["20…-…T…:…", true]),
        ),
        case(
            "each tool declares a timeout (default 30 seconds)",
            async |s| {
                let slow =
                    Arc::new(ScriptedTool::new("slow").hangs().spec(|spec| spec.attempts = 1));
                let w = s.tool(&slow).open().await;
                tokio::time::pause();
                w.call("slow", json!({})).await
            },
            json!({
                "status": "error",
                "error_type": "timeout",
                "message": "Tool execution timed out after 30s",
            }),
        ),
    ]
}

fn typed() -> Arc<ScriptedTool> {
    let schema = json!({
        "type": "object", "required": ["n"],
        "properties": {
            "n": {"type": "integer"},
            "on": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "note": {"type": "string"},
        },
    });
    Arc::new(ScriptedTool::new("typed").takes(schema))
}

fn executor() -> Vec<TestCase> {
    vec![
        case(
            "parses JSON arguments into a typed map",
            async |s| {
                let tool = typed();
                s.tool(&tool)
                    .call_text("typed", r#"{"n": "7", "on": "true", "tags": ["a"]}"#)
                    .await;
                json!(tool.seen())
            },
            json!([{"n": 7, "on": true, "tags": ["a"]}]),
        ),
        case(
            "explicit null arguments are dropped",
            async |s| {
                let tool = typed();
                s.tool(&tool).call_text("typed", r#"{"n": 1, "note": null}"#).await;
                json!(tool.seen()[0].as_object().unwrap().keys().collect::<Vec<_>>())
            },
            json!(["n"]),
        ),
        case(
            "bad JSON becomes a result, and the tool does not run",
            async |s| {
                let tool = typed();
                let said =
                    s.tool(&tool).call_text("typed", r#"{"n": 1, "note": "cut in the mid"#).await;
                json!([said, tool.runs()])
            },
            json!([{"status": "error", "error_type": "validation_error"}, 0]),
        ),
        case(
            "catches errors: an exception becomes a result",
            async |s| {
                s.tool(&Arc::new(ScriptedTool::new("bad").does(|_, _| panic!("no such element"))))
                    .call("bad", json!({}))
                    .await
            },
            json!({"status": "error", "message": "…no such element…"}),
        ),
        case(
            "user cancel propagates with no fake result",
            async |s| {
                let slow = Arc::new(ScriptedTool::new("slow").hangs());
                let w = s.tool(&slow).open().await;
                let run = w.run(RunLimits::default());
                let mut call = Box::pin(w.call_in(run, "slow", json!({})));
                let waits = futures_util::poll!(call.as_mut()).is_pending();
                w.engine().cancel_run(run);
                json!([waits, call.await])
            },
            json!([true, {"status": "error", "error_type": "cancelled", "outcome": "cancelled"}]),
        ),
        case(
            "map result: JSON; string: as it is",
            async |s| {
                let map = Arc::new(
                    ScriptedTool::new("map")
                        .returns(ToolOutput::structured(json!({"a": [1, null]}))),
                );
                let text =
                    Arc::new(ScriptedTool::new("text").returns(ToolOutput::text("{\"a\": 1}")));
                let w = s.tool(&map).tool(&text).open().await;
                json!([
                    w.call("map", json!({})).await["result"],
                    w.call("text", json!({})).await["result"]
                ])
            },
            json!([{"a": [1, null]}, "{\"a\": 1}"]),
        ),
    ]
}

fn flow() -> Vec<TestCase> {
    let result = |n: &str| json!({"json": {"status": "success", "result": n}});
    let both = async |s: FixtureBuilder,
                      format,
                      body: fn(&[crate::response_bodies::Asked<'_>]) -> String| {
        let w = s.file("a.txt", "A").file("b.txt", "B").open().await;
        let calls = [
            ("id_1", "read_file", json!({"path": "a.txt"})),
            ("id_2", "read_file", json!({"path": "b.txt"})),
        ];
        w.exec(format, body(&calls)).await["messages"].clone()
    };
    vec![
        case(
            "the AI responds with one or more tool calls; results carry call id and result: OpenAI-compatible",
            move |s| both(s, Format::OpenAiChat, chat),
            json!([
                {"role": "tool", "tool_call_id": "id_1", "content": result("A")},
                {"role": "tool", "tool_call_id": "id_2", "content": result("B")},
            ]),
        ),
        case(
            "… Gemini",
            move |s| both(s, Format::Gemini, gemini),
            json!([{"role": "user", "parts": [
                {
                    "functionResponse": {
                        "id": "id_1",
                        "name": "read_file",
                        "response": {"status": "success", "result": "A"},
                    },
                },
                {
                    "functionResponse": {
                        "id": "id_2",
                        "name": "read_file",
                        "response": {"status": "success", "result": "B"},
                    },
                },
            ]}]),
        ),
        case(
            "… Anthropic",
            move |s| both(s, Format::Anthropic, anthropic),
            json!([{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "id_1", "content": [{"text": result("A")}]},
                {"type": "tool_result", "tool_use_id": "id_2", "content": [{"text": result("B")}]},
            ]}]),
        ),
        case(
            "servers that emit <tool_call> as text: parsed into real calls",
            async |s| {
                let w = s.file("a.txt", "A").open().await;
                let content = tagged(&[("", "read_file", json!({"path": "a.txt"}))]);
                let body = json!({
                    "choices": [
                        {"finish_reason": "stop", "message": {"role": "assistant", "content": content}},
                    ],
                });
                w.exec(None, body.to_string()).await
            },
            json!({
                "format": "openai-chat",
                "messages": [{"role": "tool", "tool_call_id": "…", "content": result("A")}],
            }),
        ),
        case(
            "all tool calls in the response are executed in parallel: each waits for the other",
            async |s| {
                let barrier = Arc::new(tokio::sync::Barrier::new(2));
                let meet = Arc::new(ScriptedTool::new("meet").does(move |_, _| {
                    let barrier = Arc::clone(&barrier);
                    Box::pin(async move {
                        barrier.wait().await;
                        Ok(ToolOutput::text("met"))
                    })
                }));
                let w = s.tool(&meet).open().await;
                let calls = [("1", "meet", json!({"n": 1})), ("2", "meet", json!({"n": 2}))];
                w.exec(Format::OpenAiChat, chat(&calls)).await["messages"].clone()
            },
            json!([
                {"tool_call_id": "1", "content": result("met")},
                {"tool_call_id": "2", "content": result("met")},
            ]),
        ),
        case(
            "when the AI responds with no tool calls there is nothing to send",
            async |s| {
                let body = json!({
                    "choices": [
                        {"finish_reason": "stop", "message": {"role": "assistant", "content": "Done."}},
                    ],
                });
                s.open().await.exec(Format::OpenAiChat, body.to_string()).await
            },
            json!({"messages": [], "calls": [], "complete": true}),
        ),
    ]
}

/// Returns the model's view of a text of this length.
async fn of_length(start: FixtureBuilder, chars: usize) -> Value {
    let text = format!("A{}Z", "é".repeat(chars - 2));
    let tool = Arc::new(ScriptedTool::new("talk").returns(ToolOutput::text(text)));
    let said = start.tool(&tool).call("talk", json!({})).await;
    let text = said["result"].as_str().unwrap();
    json!({
        "chars": text.chars().count(), "whole": text.starts_with('A'), "ends": text.ends_with('Z'),
        "first": text.lines().next(), "artifact": said["artifact"],
    })
}

fn guards() -> Vec<TestCase> {
    vec![
        case(
            "tool results longer than 20,000 characters are truncated with a note indicating the original length",
            async |s| {
                let got = of_length(s, 20_001).await;
                json!({"fits": got["chars"].as_u64() <= Some(20_000), "cut": got})
            },
            json!({
                "fits": true,
                "cut": {
                    "whole": false,
                    "ends": true,
                    "first": "[Showing … of 20…001 characters: the first … and the last ….]",
                    "artifact": "art_…",
                },
            }),
        ),
        case(
            "… and those of exactly 20,000 are not",
            async |s| of_length(s, 20_000).await,
            json!({"chars": 20_000, "whole": true, "artifact": null}),
        ),
        case(
            "smart middle truncation: both the beginning and the end of a long output are preserved",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("build").does(|ctx, _| {
                    let mut stream = ctx.stream("text/plain");
                    stream.write(b"begin\n");
                    for n in 0..20_000 {
                        stream.write(format!("compiling {n}\n").as_bytes());
                    }
                    stream.write(b"error: expected `;`\n");
                    let block = stream.finish();
                    Box::pin(std::future::ready(Ok(ToolOutput::from_blocks(vec![block]))))
                }));
                s.tool(&tool).call("build", json!({})).await
            },
            json!({
                "status": "success",
                "artifact": "art_…",
                "result": "…begin\ncompiling 0\n…omitted…error: expected `;`\n…[308916 bytes in all; the whole is read with read_artifact(ref=\"art_…\")]",
            }),
        ),
        case(
            "if the same signature pattern appears 3 consecutive times, it is stopped",
            async |s| {
                let w = s.open().await;
                let run = w.run(RunLimits::default());
                let mut ended = Vec::new();
                for _ in 0..3 {
                    ended.push(w.call_in(run, "list_dir", json!({})).await);
                }
                ended.push(w.call_in(run, "get_current_time", json!({})).await);
                json!(ended)
            },
            json!([
                {"status": "success"}, {"status": "success"},
                {
                    "error_type": "repeated_call",
                    "message": "You have made the same calls three times in a row…",
                }, {"status": "success"},
            ]),
        ),
        case(
            "… its name and arguments: other arguments are another signature, another order of keys is not",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("work"));
                let w = s.tool(&tool).open().await;
                let run = w.run(RunLimits::default());
                let mut ended = Vec::new();
                for text in [
                    r#"{"a":1,"b":2}"#,
                    r#"{"a":1,"b":3}"#,
                    r#"{"a":1,"b":2}"#,
                    r#"{"b":2,"a":1}"#,
                    r#"{ "a": 1, "b": 2 }"#,
                ] {
                    let batch = Batch {
                        run: Some(run),
                        ..Batch::new(Origin::Model, vec![Call::with_text("work", text)])
                    };
                    ended.push(w.all(batch).await.remove(0)["error_type"].clone());
                }
                json!({"ended": ended, "runs": tool.runs()})
            },
            json!({"ended": [null, null, null, null, "repeated_call"], "runs": 4}),
        ),
        case(
            "a call that exceeds its timeout is cancelled and an error is returned as the tool result",
            async |s| {
                let slow = Arc::new(
                    ScriptedTool::new("slow")
                        .hangs()
                        .spec(|s| (s.timeout, s.attempts) = (Duration::from_millis(20), 1)),
                );
                let w = s.tool(&slow).open().await;
                w.exec(Format::OpenAiChat, chat(&[("1", "slow", json!({}))])).await["messages"]
                    .clone()
            },
            json!([
                {
                    "role": "tool",
                    "tool_call_id": "1",
                    "content": {"json": {"status": "error", "error_type": "timeout"}},
                },
            ]),
        ),
    ]
}

fn names(w: &Fixture, view: ViewRequest) -> Vec<String> {
    let declared = w.toolcrib.declare(Format::OpenAiChat, &Arc::new(view), false).value;
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
    declared.as_array().map(|tools| tools.iter().map(name).collect()).unwrap_or_default()
}

fn enablement() -> Vec<TestCase> {
    let memory = || {
        Arc::new(
            ScriptedTool::new("memory_note").spec(|s| s.controlled_by = Some("memory".to_owned())),
        )
    };
    let shell =
        || Arc::new(ScriptedTool::new("execute_shell_command").spec(|s| s.default_enabled = false));
    vec![
        case(
            "feature-level gates: memory tools require memory enabled",
            async move |s| {
                let w = s.tool(&memory()).open().await;
                let on = w.call("memory_note", json!({})).await["status"].clone();
                w.engine().set_feature_enabled("memory", false);
                let off = w.call("memory_note", json!({})).await;
                json!({
                    "on": on,
                    "off": off,
                    "declared": names(&w, ViewRequest::default()).contains(&"memory_note".to_owned()),
                })
            },
            json!({
                "on": "success",
                "off": {"error_type": "tool_disabled", "message": "…\"memory\" is switched off…"},
                "declared": false,
            }),
        ),
        case(
            "per-tool toggles",
            async |s| {
                let w = s.open().await;
                let mut ended = Vec::new();
                for on in [false, true] {
                    w.toolcrib.catalog().set_enabled("list_dir", on).unwrap();
                    ended.push(json!([
                        w.call("list_dir", json!({})).await["error_type"],
                        names(&w, ViewRequest::default()).contains(&"list_dir".to_owned())
                    ]));
                }
                json!(ended)
            },
            json!([["tool_disabled", false], [null, true]]),
        ),
        case(
            "… by an alias too: a toggle is about the tool, not about a name",
            async |s| {
                let w = s.open().await;
                w.toolcrib.catalog().set_enabled("get_local_time", false).unwrap();
                json!([
                    w.call("get_current_time", json!({})).await["error_type"],
                    w.call("get_local_time", json!({})).await["error_type"]
                ])
            },
            json!(["tool_disabled", "tool_disabled"]),
        ),
        case(
            "default state: most tools default to enabled; execute_shell_command defaults to disabled",
            async move |s| {
                let w = s.tool(&shell()).open().await;
                let off: Vec<String> = w
                    .toolcrib
                    .infos()
                    .into_iter()
                    .filter(|info| !info.enabled)
                    .map(|info| info.id.to_string())
                    .collect();
                let before = w.call("execute_shell_command", json!({})).await["error_type"].clone();
                w.toolcrib.catalog().set_enabled("execute_shell_command", true).unwrap();
                json!({
                    "off": off,
                    "before": before,
                    "after": w.call("execute_shell_command", json!({})).await["status"],
                })
            },
            json!({"off": ["execute_shell_command"], "before": "tool_disabled", "after": "success"}),
        ),
        case(
            "master-toggle-only: no individual per-tool toggle",
            async move |s| {
                let w = s.tool(&memory()).open().await;
                let refused =
                    w.toolcrib.catalog().set_enabled("memory_note", false).unwrap_err().message;
                json!([refused, w.call("memory_note", json!({})).await["status"]])
            },
            json!(["…no switch of its own…\"memory\"…", "success"]),
        ),
        case(
            "on-device allowlist: only these are exposed, regardless of which other tools are enabled",
            async |s| {
                let w = s.open().await;
                let allow =
                    ["get_local_time", "web_search", "memory_store", "execute_shell_command"]
                        .map(str::to_owned)
                        .to_vec();
                let view = ViewRequest {
                    model: ModelCapabilities { allow: Some(allow), ..ModelCapabilities::default() },
                    ..ViewRequest::default()
                };
                let call = Call::new("read_file", json!({"path": "a"}));
                let batch =
                    Batch { view: Arc::new(view.clone()), ..Batch::new(Origin::Model, vec![call]) };
                json!({"declared": names(&w, view), "others": w.all(batch).await})
            },
            json!({"declared": ["get_current_time", "memory_store"], "others": [{"error_type": "tool_not_available"}]}),
        ),
        case(
            "only enabled tools are sent to the AI provider, in a stable order, common ones first",
            async |s| {
                let mine = Arc::new(ScriptedTool::new("a_tool_of_mine"));
                let w = s.tool(&mine).open().await;
                let before = names(&w, ViewRequest::default());
                w.toolcrib.catalog().set_enabled("read_file", false).unwrap();
                let without = names(&w, ViewRequest::default());
                w.toolcrib.catalog().set_enabled("read_file", true).unwrap();
                let again = names(&w, ViewRequest::default());
                let expected: Vec<&String> =
                    before.iter().filter(|name| *name != "read_file").collect();
                json!({
                    "same": before == again,
                    "one less": expected == without.iter().collect::<Vec<_>>(),
                    "first": before[0],
                    "last": before.last(),
                })
            },
            json!({"same": true, "one less": true, "first": "review_tool_calls", "last": "a_tool_of_mine"}),
        ),
    ]
}
