//! Built-in tools: rules, permissions, and visibility for agents.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::{
    Batch, Call, Context, Origin, Permission, PermissionState, Permissions, Risk, ToolError,
    ToolName, ViewRequest,
};
use toolcrib_providers::Format;
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::test_case::{TestCase, case};

/// Withdraws a permission after the first call.
struct Once(AtomicBool);

impl Permissions for Once {
    fn state(&self, permission: &Permission, _: &Context) -> PermissionState {
        let first = *permission == Permission::FsRead && !self.0.swap(true, Ordering::SeqCst);
        if first { PermissionState::Granted } else { PermissionState::Denied }
    }
}

pub(super) fn rows() -> Vec<TestCase> {
    [tool_rules(), execution_rules(), agents()].into_iter().flatten().collect()
}

fn tool_rules() -> Vec<TestCase> {
    vec![
        case(
            "1. every tool must have a unique name (enforced at registration)",
            async |s| {
                let w = s.open().await;
                let second = Arc::new(ScriptedTool::new("read_file"));
                let alias = Arc::new(ScriptedTool::new("get_local_time"));
                let mut said = Vec::new();
                for tool in [&second, &alias] {
                    let refused = w.toolcrib.catalog().attach(&fixed_source("mine", &[tool])).await;
                    said.push(refused.unwrap_err().message);
                }
                let still = w.call("read_file", json!({"path": "no"})).await["error_type"].clone();
                json!({"said": said, "still the built-in": still, "ran": second.runs()})
            },
            json!({
                "said": [
                    "Tool read_file of source \"mine\" cannot be registered: source \"builtin\" already has…",
                    "Tool get_local_time…",
                ],
                "still the built-in": "file_not_found", "ran": 0,
            }),
        ),
        case(
            "2. tool names follow snake_case convention",
            async |s| {
                let w = s.open().await;
                let bad: Vec<String> = w
                    .toolcrib
                    .infos()
                    .into_iter()
                    .map(|info| info.id.to_string())
                    .filter(|id| ToolName::local(id).is_err())
                    .collect();
                let refused = ["readFile", "read-file", "2read", "Read_file", "read file", ""]
                    .map(|name| ToolName::local(name).is_err());
                json!({"bad": bad, "refused": refused})
            },
            json!({"bad": [], "refused": [true, true, true, true, true, true]}),
        ),
        case(
            "3. tools execute automatically without user confirmation (what is safe)",
            async |s| {
                let w = s.file("a.txt", "x").open().await;
                let mut ended = Vec::new();
                for (name, args) in [
                    ("get_current_time", json!({})),
                    ("read_file", json!({"path": "a.txt"})),
                    ("write_file", json!({"path": "b.txt", "content": "y"})),
                    ("http_request", json!({"url": w.web.url("/json")})),
                ] {
                    ended.push(w.call(name, args).await["status"].clone());
                }
                json!(ended)
            },
            json!(["success", "success", "success", "success"]),
        ),
        case(
            "4. a preset under which only permissions interrupt",
            async |s| {
                let s = s
                    .settings(|settings| settings.engine.preset = toolcrib_app::Preset::Auto)
                    .file("a.txt", "x");
                let w = s.open().await;
                json!([w.call("delete_file", json!({"path": "a.txt"})).await, w.text("a.txt")])
            },
            json!([{"status": "success"}, null]),
        ),
        case(
            "5. a tool that fails returns an error to the model",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("failing")
                        .fails(ToolError::execution("The printer is out of paper.")),
                );
                s.tool(&tool).call("failing", json!({})).await
            },
            json!({
                "status": "error",
                "error_type": "execution_error",
                "message": "The printer is out of paper.",
            }),
        ),
        case(
            "6. the engine never silently drops a tool call; every call gets a result (success or error)",
            async |s| {
                let tools = [
                    Arc::new(ScriptedTool::new("fine")),
                    Arc::new(ScriptedTool::new("bad").does(|_, _| panic!("boom"))),
                    Arc::new(
                        ScriptedTool::new("slow")
                            .hangs()
                            .spec(|s| (s.timeout, s.attempts) = (Duration::from_millis(20), 1)),
                    ),
                    Arc::new(ScriptedTool::new("risky").spec(|s| s.risk = Risk::Critical)),
                ];
                let s = tools.iter().fold(s, |s, tool| s.tool(tool));
                let names = ["fine", "bad", "slow", "risky", "unknown", " ", "fine"];
                let calls: Vec<_> = names.iter().map(|name| ("", *name, json!({}))).collect();
                let w = s.open().await;
                let reply = w.exec(Format::Gemini, crate::response_bodies::gemini(&calls)).await;
                let results: Vec<&Value> = reply["messages"][0]["parts"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|part| &part["functionResponse"]["response"])
                    .collect();
                json!(results)
            },
            json!([
                {"status": "success"}, {"error_type": "crashed"}, {"error_type": "timeout"},
                {"error_type": "approval_denied"}, {"error_type": "tool_not_found"},
                {"error_type": "validation_error", "message": "The tool name is empty…"}, {"status": "success"},
            ]),
        ),
    ]
}

fn execution_rules() -> Vec<TestCase> {
    vec![
        case(
            "timeouts are configurable per tool: the owner's replaces the declared one",
            async |s| {
                let slow = Arc::new(ScriptedTool::new("slow").hangs().spec(|s| s.attempts = 1));
                let s = s.tool(&slow).settings(|settings| {
                    settings.engine.tools.entry("slow".to_owned()).or_default().timeout =
                        Some(Duration::from_secs(2));
                });
                let w = s.open().await;
                tokio::time::pause();
                let begun = tokio::time::Instant::now();
                let said = w.call("slow", json!({})).await["message"].clone();
                json!([said, begun.elapsed().as_secs()])
            },
            json!(["Tool execution timed out after 2s", 2]),
        ),
        case(
            "execution flow 2 before 3: an unknown tool is told before its parameters are looked at",
            async |s| s.call_text("no_such_tool", "{broken").await,
            json!({"error_type": "tool_not_found"}),
        ),
        case(
            "execution flow 3 before 4: parameters are validated before permissions",
            async |s| {
                s.permission(Permission::FsRead, PermissionState::Denied)
                    .call("read_file", json!({}))
                    .await
            },
            json!({"error_type": "validation_error"}),
        ),
        case(
            "permission rule 2: checked before every execution (not just the first time)",
            async |s| {
                let s =
                    s.with(|builder| builder.permissions(Arc::new(Once(AtomicBool::new(false)))));
                let w = s.file("a.txt", "x").open().await;
                json!([
                    w.call("read_file", json!({"path": "a.txt"})).await,
                    w.call("read_file", json!({"path": "a.txt"})).await
                ])
            },
            json!([{"status": "success"}, {"error_type": "permission_denied"}]),
        ),
        case(
            "permission rule 5: never bypassed, whoever calls and whatever the preset",
            async |s| {
                let s = s.settings(|settings| settings.engine.preset = toolcrib_app::Preset::Auto);
                let w = s.permission(Permission::FsWrite, PermissionState::Denied).open().await;
                let mut ended = Vec::new();
                for origin in [
                    Origin::Model,
                    Origin::Chain,
                    Origin::Mcp,
                    Origin::Rest,
                    Origin::Cli,
                    Origin::Schedule,
                    Origin::Device,
                ] {
                    let call = Call::new("write_file", json!({"path": "a.txt", "content": "x"}));
                    ended.extend(
                        w.all(Batch::new(origin, vec![call]))
                            .await
                            .iter()
                            .map(|said| said["error_type"].clone()),
                    );
                }
                json!({"ended": ended, "file": w.text("a.txt")})
            },
            json!({"ended": vec!["permission_denied"; 7], "file": null}),
        ),
        case(
            "no hard limit on chain depth, but a budget of calls: the run ends, not the process",
            async |s| {
                let w = s.open().await;
                let run = w.run(toolcrib_core::RunLimits { calls: Some(2), ..Default::default() });
                let mut ended = Vec::new();
                for hour in 1..=3 {
                    let args = json!({"timezone": format!("UTC+{hour}")});
                    ended.push(w.call_in(run, "get_current_time", args).await);
                }
                json!(ended)
            },
            json!([
                {"status": "success"},
                {"status": "success"},
                {"error_type": "budget_exceeded", "message": "…all 2 calls…"},
            ]),
        ),
    ]
}

fn agents() -> Vec<TestCase> {
    vec![
        case(
            "tools are selectable per agent",
            async |s| {
                let w = s.open().await;
                let view = |agent: &[&str]| {
                    let agent = Some(agent.iter().map(|name| (*name).to_owned()).collect());
                    let view = w
                        .toolcrib
                        .catalog()
                        .view(&Arc::new(ViewRequest { agent, ..ViewRequest::default() }));
                    view.tools.iter().map(|entry| entry.spec().name.to_string()).collect::<Vec<_>>()
                };
                json!({
                    "two": view(&["read_file", "get_current_time"]), "none": view(&[]),
                    "group": view(&["group:network"]), "no prefix": view(&["read_f"]), "unknown names are ignored": view(&["nonsense", "read_file"]),
                })
            },
            json!({
                "two": ["get_current_time", "read_file"], "none": [], "group": ["http_request", "fetch_url", "docs_search", "news", "get_weather", "get_location_from_ip", "open_url"],
                "no prefix": [], "unknown names are ignored": ["read_file"],
            }),
        ),
        case(
            "agent config shows tool name and description; tools that require permissions show it",
            async |s| {
                let w = s.open().await;
                let info = w
                    .toolcrib
                    .infos()
                    .into_iter()
                    .find(|info| info.id.as_str() == "http_request")
                    .unwrap();
                json!({"info": info, "permissions": w.toolcrib.spec("http_request").unwrap().permissions})
            },
            json!({
                "info": {
                    "id": "http_request",
                    "title": "Send HTTP request",
                    "description": "Make an HTTP request…",
                    "enabled": true,
                },
                "permissions": ["network"],
            }),
        ),
        case(
            "tool execution duration is tracked",
            async |s| {
                let w = s.open().await;
                w.call("get_current_time", json!({})).await;
                let records = w.records().await;
                json!([
                    records.len(),
                    records[1]["tool"],
                    records[1]["attempts"],
                    records[1]["run_nanos"].as_u64() > Some(0)
                ])
            },
            json!([2, "get_current_time", 1, true]),
        ),
    ]
}
