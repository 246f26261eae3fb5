//! Registry, definitions, and wrapping of tools.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_core::{Handler, ToolName, ToolOutput, ViewRequest, remote_name};
use toolcrib_providers::Format;
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::fixture::{Fixture, FixtureBuilder};
use crate::test_case::{TestCase, case};

pub(super) fn registry() -> Vec<TestCase> {
    vec![
        case(
            "instanciable, not a singleton: a tool of one is not in another",
            async |s| {
                let w = s.tool(&Arc::new(ScriptedTool::new("work"))).open().await;
                let other = FixtureBuilder::new().open().await;
                json!([
                    w.call("work", json!({})).await["status"],
                    other.call("work", json!({})).await["error_type"]
                ])
            },
            json!(["success", "tool_not_found"]),
        ),
        case(
            "get_tool and list_tools",
            async |s| {
                let w = s.tool(&Arc::new(ScriptedTool::new("work"))).open().await;
                let listed = w.toolcrib.infos().iter().filter(|info| info.source == "test").count();
                json!([
                    w.toolcrib.spec("work").is_some(),
                    w.toolcrib.spec("nothing").is_some(),
                    listed
                ])
            },
            json!([true, false, 1]),
        ),
        case(
            "unregister: workspace tools go without affecting globals, and only once",
            async |s| {
                let w = s.tool(&Arc::new(ScriptedTool::new("work"))).open().await;
                let gone =
                    [w.toolcrib.catalog().detach("test"), w.toolcrib.catalog().detach("test")];
                json!({
                    "gone": gone,
                    "work": w.call("work", json!({})).await["error_type"],
                    "global": w.call("get_current_time", json!({})).await["status"],
                    "left": w.toolcrib.infos().len(),
                })
            },
            json!({"gone": [true, false], "work": "tool_not_found", "global": "success", "left": 57}),
        ),
        case(
            "a clean workspace switch: calls in flight finish on the old version, the next one runs the new",
            async |s| {
                let (go, wait) = tokio::sync::oneshot::channel::<()>();
                let wait = std::sync::Mutex::new(Some(wait));
                let old = Arc::new(ScriptedTool::new("work").does(move |_, _| {
                    let wait = wait.lock().unwrap().take().unwrap();
                    Box::pin(async move {
                        let _ = wait.await;
                        Ok(ToolOutput::text("old"))
                    })
                }));
                let w = s.tool(&old).open().await;
                let mut first = Box::pin(w.call("work", json!({"n": 1})));
                assert!(futures_util::poll!(first.as_mut()).is_pending());
                let new = Arc::new(ScriptedTool::new("work").returns(ToolOutput::text("new")));
                w.toolcrib.catalog().attach(&fixed_source("test", &[&new])).await.unwrap();
                let second = w.call("work", json!({"n": 2})).await["result"].clone();
                go.send(()).unwrap();
                json!([first.await["result"], second])
            },
            json!(["old", "new"]),
        ),
        case(
            "a source that is refused leaves nothing behind",
            async |s| {
                let w = s.open().await;
                let (fine, taken) =
                    (Arc::new(ScriptedTool::new("fine")), Arc::new(ScriptedTool::new("read_file")));
                let refused = w
                    .toolcrib
                    .catalog()
                    .attach(&fixed_source("mine", &[&fine, &taken]))
                    .await
                    .is_err();
                json!([refused, w.call("fine", json!({})).await["error_type"]])
            },
            json!([true, "tool_not_found"]),
        ),
    ]
}

fn names(w: &Fixture, agent: &[&str]) -> Vec<String> {
    let agent = Some(agent.iter().map(|name| (*name).to_owned()).collect());
    let view =
        w.toolcrib.catalog().view(&Arc::new(ViewRequest { agent, ..ViewRequest::default() }));
    view.tools.iter().map(|entry| entry.spec().name.to_string()).collect()
}

/// Returns a tool of a remote server.
fn remote(server: &str, name: &str) -> Arc<ScriptedTool> {
    let schema = json!({
        "type": "object",
        "properties": {"url": {"type": "string"}, "wait": {"type": "integer"}},
        "required": ["url"],
    });
    let name: ToolName = remote_name(server, name);
    Arc::new(ScriptedTool::new("work").takes(schema).spec(|s| s.name = name))
}

pub(super) fn specs() -> Vec<TestCase> {
    let declared = async |s: FixtureBuilder, tool: Arc<ScriptedTool>| {
        let w = s.tool(&tool).open().await;
        let name = Handler::spec(&*tool).name.to_string();
        let value = w.toolcrib.declare(Format::OpenAiChat, &Arc::default(), true).value;
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["function"].clone())
            .find(|tool| tool["name"] == json!(name))
            .unwrap()
    };
    vec![
        case(
            "to_openai_spec(strict): \"strict\": true and \"additionalProperties\": false, every parameter required, optional ones nullable",
            async move |s| {
                let schema = json!({
                    "type": "object",
                    "required": ["a"],
                    "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
                });
                declared(s, Arc::new(ScriptedTool::new("work").takes(schema))).await
            },
            json!({
                "strict": true,
                "parameters": {
                    "additionalProperties": false,
                    "required": ["a", "b"],
                    "properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}},
                },
            }),
        ),
        case(
            "MCP-prefixed tools are excluded from strict mode",
            async |s| {
                let w = s.tool(&remote("browser", "navigate")).open().await;
                let value = w.toolcrib.declare(Format::OpenAiChat, &Arc::default(), true).value;
                value
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|tool| tool["function"].clone())
                    .find(|tool| tool["name"] == "browser__navigate")
                    .unwrap()
            },
            json!({
                "name": "browser__navigate",
                "strict": null,
                "parameters": {"required": ["url"], "additionalProperties": null},
            }),
        ),
        case(
            "required: none given means none, never the first parameter",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("work")
                        .takes(json!({"type": "object", "properties": {"a": {"type": "string"}}})),
                );
                s.tool(&tool).call("work", json!({})).await
            },
            json!({"status": "success"}),
        ),
        case(
            "build_tool_definitions(allowed_tools): exactly these",
            async |s| {
                let w = s.open().await;
                json!([
                    names(&w, &["read_file", "list_dir"]),
                    names(&w, &["*_file"]),
                    names(&w, &["group:time"])
                ])
            },
            json!([
                ["read_file", "list_dir"],
                ["read_file", "write_file", "edit_file", "delete_file"],
                ["get_current_time"]
            ]),
        ),
        case(
            "expand_allowed_tools: a server's short name means its tools",
            async |s| {
                let w = s.open().await;
                let (a, b) = (remote("browser", "navigate"), remote("browser", "click"));
                w.toolcrib.catalog().attach(&fixed_source("browser", &[&a, &b])).await.unwrap();
                json!([
                    names(&w, &["browser"]),
                    names(&w, &["server:browser"]),
                    names(&w, &["browser__navigate"])
                ])
            },
            json!([
                ["browser__navigate", "browser__click"],
                ["browser__navigate", "browser__click"],
                ["browser__navigate"]
            ]),
        ),
        case(
            "tool_matches_allowlist: a prefix grants nothing",
            async |s| {
                let w = s.open().await;
                json!([names(&w, &["read_f"]), names(&w, &["file"]), names(&w, &["read_file_"])])
            },
            json!([[], [], []]),
        ),
        case(
            "sanitised MCP prefixes: mcp:server.tool, mcp__server__tool and server__tool are one tool",
            async |s| {
                let w = s.tool(&remote("browser", "navigate")).open().await;
                let mut ended = Vec::new();
                for name in ["browser__navigate", "mcp__browser__navigate", "mcp:browser.navigate"]
                {
                    ended.push(w.call(name, json!({"url": "x"})).await["status"].clone());
                }
                json!(ended)
            },
            json!(["success", "success", "success"]),
        ),
        case(
            "build_tool_instructions: text for models without native function calling",
            async |s| {
                let w = s.open().await;
                let prompt = w.toolcrib.declare(Format::Text, &Arc::default(), false).value;
                json!([
                    prompt,
                    prompt
                        .as_str()
                        .unwrap()
                        .lines()
                        .filter(|line| line.starts_with("{\"name\":\""))
                        .count()
                ])
            },
            json!(["…<tool_call>…\"name\":\"read_file\"…\"path\"…", 44]),
        ),
        case(
            "… and their answer: one object {\"actions\": [{\"tool\", \"params\"}]}",
            async |s| {
                let w = s.file("a.txt", "A").open().await;
                let plan = json!({
                    "actions": [
                        {"tool": "read_file", "params": {"path": "a.txt"}},
                        {"tool": "get_current_time", "params": {}},
                    ],
                });
                w.exec(Format::Text, plan.to_string()).await
            },
            json!({
                "calls": [{"status": "success", "result": "A"}, {"status": "success"}],
                "messages": [
                    {
                        "role": "user",
                        "content": "<tool_result name=\"read_file\" id=\"1\">…<tool_result name=\"get_current_time\" id=\"2\">…",
                    },
                ],
            }),
        ),
    ]
}

pub(super) fn wrapper() -> Vec<TestCase> {
    vec![
        case(
            "empty name guard: an error if tool_name is empty or whitespace",
            async |s| {
                let w = s.open().await;
                json!([w.call("", json!({})).await, w.call(" \t\n", json!({})).await])
            },
            json!([
                {"status": "error", "error_type": "validation_error", "message": "The tool name is empty…"},
                {"status": "error", "error_type": "validation_error", "message": "The tool name is empty…"},
            ]),
        ),
        case(
            "fast-fail on a missing or empty required parameter",
            async |s| {
                let schema = json!({
                    "type": "object",
                    "required": ["command"],
                    "properties": {"command": {"type": "string", "minLength": 1}},
                });
                let tool = Arc::new(ScriptedTool::new("bash_manager").takes(schema));
                let w = s.tool(&tool).open().await;
                json!([
                    w.call("bash_manager", json!({})).await,
                    w.call("bash_manager", json!({"command": ""})).await,
                    tool.runs()
                ])
            },
            json!([
                {"error_type": "validation_error", "message": "…command…"},
                {"error_type": "validation_error", "message": "…command…"}, 0,
            ]),
        ),
        case(
            "records per-tool latency and success or failure",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("work").does(|_, _| {
                    Box::pin(async {
                        tokio::time::sleep(Duration::from_millis(3)).await;
                        Ok(ToolOutput::text("ok"))
                    })
                }));
                let w = s.tool(&tool).open().await;
                w.call("work", json!({})).await;
                w.call("gone", json!({})).await;
                let records = w.records().await;
                json!([
                    records[0],
                    records[1],
                    records[1]["run_nanos"].as_u64() >= Some(3_000_000),
                    records[2]
                ])
            },
            json!([
                "started",
                {"tool": "work", "outcome": "succeeded", "error_type": null},
                true,
                {"asked": "gone", "outcome": "failed", "error_type": "tool_not_found"},
            ]),
        ),
        case(
            "seed names of tools that have another one here",
            async |s| {
                let w = s.open().await;
                json!([
                    w.call("web_fetch", json!({"url": w.web.url("/json")})).await,
                    w.call("read_file", json!({"file_path": "gone"})).await
                ])
            },
            json!([{"status": "success"}, {"error_type": "file_not_found", "message": "File not found: gone"}]),
        ),
    ]
}
