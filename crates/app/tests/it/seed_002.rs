//! Seed 002, "Tools Layer": the orchestrator's flow, hooks, retries and token budget, the registry, specifications, and the wrapper.
//!
//! Belonging to later work:
//! - files of a workspace as tools, with their source (here: any source that loads and unloads);
//! - shell, code execution, git, tests, language server, diffs, search in code, PDF;
//! - MCP routing (here only the spelling of remote names), `ask_clarification` and paused sessions;
//! - kits and skills as files, tool instructions in a system prompt, metrics per tool, rules per role.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_app::core::{
    Batch, Call, Context, Effect, ErrorType, Event, EventKind, Invoker as _, Origin, Permission,
    PermissionState, Risk, RunId, RunLimits, RunSpec, ToolError, ToolName, ToolOutput, ViewRequest,
};
use toolcrib_app::providers::Format;
use toolcrib_testkit::{Recorder, ScriptedApprover, ScriptedTool, source_of};

use crate::row::{Row, check, row};
use crate::world::{Start, World};

#[test]
fn seed_002() {
    let tables = [flow(), hooks(), retries(), budgets(), registry(), specs(), wrapper()];
    check(tables.into_iter().flatten().collect());
}

fn calls(n: u64) -> RunLimits {
    RunLimits { calls: Some(n), ..RunLimits::default() }
}

fn tokens(n: u64) -> RunLimits {
    RunLimits { tokens: Some(n), ..RunLimits::default() }
}

/// A tool that every check of the flow refuses until it is told otherwise: high risk, a permission, in a run without calls.
fn refused_everywhere() -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new("work").spec(|s| (s.risk, s.permissions) = (Risk::High, vec![Permission::Exec])))
}

/// What ends the call, and whether somebody was asked and the tool ran.
async fn ended(start: Start, exec: PermissionState, limits: RunLimits, enabled: bool, name: &str) -> Value {
    let (tool, person) = (refused_everywhere(), Arc::new(ScriptedApprover::default()));
    let w = start.tool(&tool).permission(Permission::Exec, exec).asking(&person).open().await;
    w.toolcrib.catalog().set_tools_enabled(enabled);
    let run = w.run(limits);
    let said = w.call_in(run, name, json!({})).await;
    json!({"ended": said["error_type"], "asked": person.asked().len(), "ran": tool.runs()})
}

fn flow() -> Vec<Row> {
    use PermissionState::{Denied, Granted};
    vec![
        row(
            "1. tools disabled check comes first, even for a name that does not exist",
            async |s| ended(s, Denied, calls(0), false, "nonsense").await,
            json!({"ended": "tools_disabled", "asked": 0, "ran": 0}),
        ),
        row(
            "2. tool existence check",
            async |s| ended(s, Denied, calls(0), true, "nonsense").await,
            json!({"ended": "tool_not_found", "asked": 0, "ran": 0}),
        ),
        row(
            "3. permission check, before anybody is asked and before the budget",
            async |s| ended(s, Denied, calls(0), true, "work").await,
            json!({"ended": "permission_denied", "asked": 0, "ran": 0}),
        ),
        row(
            "5. token budget check: nobody is asked about a call that could not run",
            async |s| ended(s, Granted, calls(0), true, "work").await,
            json!({"ended": "budget_exceeded", "asked": 0, "ran": 0}),
        ),
        row(
            "4. interactive approval for dangerous actions; no answer is no",
            async |s| ended(s, Granted, calls(9), true, "work").await,
            json!({"ended": "approval_denied", "asked": 1, "ran": 0}),
        ),
        row(
            "6. to 9.: the stages of a call that runs, in order",
            async |s| {
                let w = s.open().await;
                let answer = w.toolcrib.call("get_current_time", json!({}).into(), Origin::Model).await.unwrap();
                json!(answer.outcome().unwrap().report.stages.iter().map(|record| record.stage).collect::<Vec<_>>())
            },
            json!([
                "receive", "switch", "resolve", "decode", "repeat", "guard", "assess", "gates", "budget", "approve", "admit", "intent", "run", "shape", "settle",
            ]),
        ),
        row(
            "tools disabled: returns immediately, and again runs when they are enabled",
            async |s| {
                let w = s.open().await;
                w.toolcrib.catalog().set_tools_enabled(false);
                let off = w.call("get_current_time", json!({})).await;
                w.toolcrib.catalog().set_tools_enabled(true);
                json!([off, w.call("get_current_time", json!({})).await])
            },
            json!([{"error_type": "tools_disabled", "message": "Tools are disabled. Answer without calling tools."}, {"status": "success"}]),
        ),
    ]
}

/// The events of some calls, with the fields of a hook's context.
async fn observed(start: Start, tool: &Arc<ScriptedTool>, work: impl AsyncFnOnce(&World)) -> Value {
    let recorder = Arc::new(Recorder::default());
    let observer = Arc::clone(&recorder);
    let w = start.tool(tool).with(|builder| builder.observer(observer)).open().await;
    work(&w).await;
    w.engine().flush_observers().await;
    recorder.events().iter().map(|event: &Event| json!(event)).collect()
}

async fn one(w: &World, run: Option<RunId>) {
    let context = Context { workspace: "shop".to_owned(), agent: "helper".to_owned(), ..Context::default() };
    let call = Call::new("work", json!({"n": 1}));
    let batch = Batch { run, context: Arc::new(context), ..Batch::new(Origin::Model, vec![call]) };
    w.all(batch).await;
}

fn hooks() -> Vec<Row> {
    let plain = || Arc::new(ScriptedTool::new("work"));
    vec![
        row(
            "on_before_tool: tool_name, parameters, attempt, workspace; on_after_tool: tool_name, result, duration, attempt",
            async move |s| observed(s, &plain(), async |w| one(w, None).await).await,
            json!([
                {"kind": "before_tool", "tool": "work", "args": {"n": 1}, "attempt": 1, "context": {"workspace": "shop"}},
                {"kind": "after_tool", "tool": "work", "result": "done", "attempt": 1, "duration": {"nanos": "…"}},
            ]),
        ),
        row(
            "on_tool_error: tool_name, error, attempt",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("work").fails(ToolError::execution("The disk is full.")));
                observed(s, &tool, async |w| one(w, None).await).await
            },
            json!([
                {"kind": "before_tool"},
                {"kind": "tool_error", "tool": "work", "error_type": "execution_error", "error": "The disk is full.", "attempt": 1},
            ]),
        ),
        row(
            "on_permission_denied: tool_name, role, workspace",
            async |s| {
                let s = s.permission(Permission::Exec, PermissionState::Denied);
                observed(s, &refused_everywhere(), async |w| one(w, None).await).await
            },
            json!([
                {"kind": "permission_denied", "tool": "work", "context": {"workspace": "shop", "agent": "helper"}, "error": "Permission exec was denied…"},
                {"kind": "tool_error", "error_type": "permission_denied"},
            ]),
        ),
        row(
            "on_token_budget_exceeded: tool_name, parameters",
            async move |s| observed(s, &plain(), async |w| one(w, Some(w.run(tokens(0)))).await).await,
            json!([{"kind": "budget_exceeded", "tool": "work", "args": {"n": 1}}, {"kind": "tool_error", "error_type": "budget_exceeded"}]),
        ),
        row(
            "on_tools_disabled",
            async move |s| {
                observed(s, &plain(), async |w| {
                    w.toolcrib.catalog().set_tools_enabled(false);
                    one(w, None).await;
                })
                .await
            },
            json!([{"kind": "tools_disabled", "attempt": 0}, {"kind": "tool_error", "error_type": "tools_disabled"}]),
        ),
        row(
            "on_before_tool fires once per attempt",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("work").fails(ToolError::new(ErrorType::NetworkError, "down")));
                let events = observed(s, &tool, async |w| {
                    tokio::time::pause();
                    one(w, None).await;
                })
                .await;
                events.as_array().unwrap().iter().map(|event| json!([event["kind"], event["attempt"]])).collect()
            },
            json!([
                ["before_tool", 1], ["retry", 1], ["before_tool", 2], ["retry", 2], ["before_tool", 3], ["tool_error", 3],
            ]),
        ),
        row(
            "hooks observe: exceptions in them are caught, and a hook that hangs delays nobody",
            async |s| {
                struct Bad;
                impl toolcrib_app::core::Observer for Bad {
                    fn observe<'a>(&'a self, event: &'a Event) -> toolcrib_app::core::BoxFuture<'a, ()> {
                        assert!(event.kind != EventKind::BeforeTool, "a broken hook");
                        Box::pin(std::future::pending())
                    }
                }
                s.with(|builder| builder.observer(Arc::new(Bad))).call("get_current_time", json!({})).await
            },
            json!({"status": "success"}),
        ),
    ]
}

/// A tool of this effect that always fails with this error: how often it ran, and the seconds it was waited for.
async fn tried(start: Start, effect: Effect, error: ToolError) -> Value {
    let tool = Arc::new(ScriptedTool::new("work").fails(error).spec(|s| s.effect = effect));
    let w = start.tool(&tool).open().await;
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    w.call("work", json!({})).await;
    json!({"runs": tool.runs(), "seconds": begun.elapsed().as_secs_f64()})
}

fn retries() -> Vec<Row> {
    let down = || ToolError::new(ErrorType::NetworkError, "down");
    vec![
        row(
            "up to MAX_RETRIES (3) attempts with exponential backoff (1.5 ** attempt + jitter)",
            async move |s| {
                let got = tried(s, Effect::Read, down()).await;
                // 1.5 + 2.25, and twice up to half a second.
                let waited = got["seconds"].as_f64().unwrap();
                json!({"runs": got["runs"], "right": (3.75..4.76).contains(&waited), "waited": waited})
            },
            json!({"runs": 3, "right": true}),
        ),
        row(
            "a success ends the attempts",
            async move |s| {
                let left = std::sync::atomic::AtomicU32::new(1);
                let tool = Arc::new(ScriptedTool::new("work").does(move |_, _| {
                    let fails = left.swap(0, std::sync::atomic::Ordering::SeqCst) == 1;
                    Box::pin(std::future::ready(if fails { Err(ToolError::new(ErrorType::RateLimited, "slow down")) } else { Ok(ToolOutput::text("ok")) }))
                }));
                let w = s.tool(&tool).open().await;
                tokio::time::pause();
                json!([w.call("work", json!({})).await["result"], tool.runs()])
            },
            json!(["ok", 2]),
        ),
        row(
            "fast-fail: what failed for good is not tried again",
            async |s| tried(s, Effect::Read, ToolError::execution("2 of 7 tests failed")).await,
            json!({"runs": 1, "seconds": 0}),
        ),
        row(
            "fast-fail: file-not-found errors and workspace boundary violations, by type and not by words",
            async |s| {
                let w = s.open().await;
                w.call("read_file", json!({"path": "gone"})).await;
                w.call("read_file", json!({"path": "../gone"})).await;
                let records = w.records().await;
                json!([[records[1]["error_type"], records[1]["attempts"]], [records[3]["error_type"], records[3]["attempts"]]])
            },
            json!([["file_not_found", 1], ["path_not_allowed", 1]]),
        ),
        row(
            "a call with side effects is never run twice",
            async move |s| tried(s, Effect::SideEffect, down()).await,
            json!({"runs": 1, "seconds": 0}),
        ),
        row(
            "… nor one that destroys",
            async |s| tried(s, Effect::Destructive, ToolError::new(ErrorType::NetworkError, "down")).await,
            json!({"runs": 1, "seconds": 0}),
        ),
    ]
}

fn budgets() -> Vec<Row> {
    vec![
        row(
            "token budget: estimated from the parameters (4 characters each), refused before the tool runs",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("work"));
                let w = s.tool(&tool).open().await;
                let run = w.run(tokens(20));
                let small = w.call_in(run, "work", json!({"n": 1})).await;
                let large = w.call_in(run, "work", json!({"text": "x".repeat(100)})).await;
                json!([small, large, tool.runs()])
            },
            json!([{"status": "success"}, {"error_type": "budget_exceeded", "message": "…20 tokens…"}, 1]),
        ),
        row(
            "the budget is isolated per task: another run has its own",
            async |s| {
                let w = s.open().await;
                let (a, b) = (w.run(calls(1)), w.run(calls(1)));
                let mut ended = Vec::new();
                for run in [a, a, b] {
                    ended.push(w.call_in(run, "get_current_time", json!({})).await["status"].clone());
                }
                json!(ended)
            },
            json!(["success", "error", "success"]),
        ),
        row(
            "a child task pays from its parent's budget",
            async |s| {
                let w = s.open().await;
                let parent = w.run(calls(1));
                let child = w.engine().open_run(RunSpec { parent: Some(parent), limits: calls(9) }).unwrap();
                let first = w.call_in(child, "get_current_time", json!({})).await;
                let second = w.call_in(child, "list_dir", json!({})).await;
                json!([first, second, w.engine().usage(parent).unwrap().calls])
            },
            json!([{"status": "success"}, {"error_type": "budget_exceeded"}, 1]),
        ),
        row(
            "reset_token_budget: a new run begins at 0",
            async |s| {
                let w = s.open().await;
                let run = w.run(calls(1));
                w.call_in(run, "get_current_time", json!({})).await;
                let used = w.engine().close_run(run).unwrap().calls;
                let next = w.run(calls(1));
                json!([used, w.engine().usage(next).unwrap().calls, w.call_in(next, "get_current_time", json!({})).await["status"]])
            },
            json!([1, 0, "success"]),
        ),
        row(
            "a parallel batch cannot overdraw it",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("work"));
                let w = s.tool(&tool).open().await;
                let calls_of = (0..20).map(|n| Call::new("work", json!({"n": n}))).collect();
                let batch = Batch { run: Some(w.run(calls(7))), ..Batch::new(Origin::Model, calls_of) };
                let refused = w.all(batch).await.iter().filter(|said| said["error_type"] == "budget_exceeded").count();
                json!([tool.runs(), refused])
            },
            json!([7, 13]),
        ),
        row(
            "over budget with the result: the result is kept, the next call is refused",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("talk").returns(ToolOutput::text("x".repeat(1000))));
                let w = s.tool(&tool).open().await;
                let run = w.run(tokens(100));
                json!([w.call_in(run, "talk", json!({"n": 1})).await, w.call_in(run, "talk", json!({"n": 2})).await, tool.runs()])
            },
            json!([{"status": "success", "result": "xxx…"}, {"error_type": "budget_exceeded"}, 1]),
        ),
    ]
}

fn registry() -> Vec<Row> {
    vec![
        row(
            "instanciable, not a singleton: a tool of one is not in another",
            async |s| {
                let w = s.tool(&Arc::new(ScriptedTool::new("work"))).open().await;
                let other = Start::new().open().await;
                json!([w.call("work", json!({})).await["status"], other.call("work", json!({})).await["error_type"]])
            },
            json!(["success", "tool_not_found"]),
        ),
        row(
            "get_tool and list_tools",
            async |s| {
                let w = s.tool(&Arc::new(ScriptedTool::new("work"))).open().await;
                let listed = w.toolcrib.infos().iter().filter(|info| info.source == "test").count();
                json!([w.toolcrib.spec("work").is_some(), w.toolcrib.spec("nothing").is_some(), listed])
            },
            json!([true, false, 1]),
        ),
        row(
            "unregister: workspace tools go without affecting globals, and only once",
            async |s| {
                let w = s.tool(&Arc::new(ScriptedTool::new("work"))).open().await;
                let gone = [w.toolcrib.catalog().detach("test"), w.toolcrib.catalog().detach("test")];
                json!({"gone": gone, "work": w.call("work", json!({})).await["error_type"], "global": w.call("get_current_time", json!({})).await["status"], "left": w.toolcrib.infos().len()})
            },
            json!({"gone": [true, false], "work": "tool_not_found", "global": "success", "left": 14}),
        ),
        row(
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
                w.toolcrib.catalog().attach(&source_of("test", &[&new])).await.unwrap();
                let second = w.call("work", json!({"n": 2})).await["result"].clone();
                go.send(()).unwrap();
                json!([first.await["result"], second])
            },
            json!(["old", "new"]),
        ),
        row(
            "a source that is refused leaves nothing behind",
            async |s| {
                let w = s.open().await;
                let (fine, taken) = (Arc::new(ScriptedTool::new("fine")), Arc::new(ScriptedTool::new("read_file")));
                let refused = w.toolcrib.catalog().attach(&source_of("mine", &[&fine, &taken])).await.is_err();
                json!([refused, w.call("fine", json!({})).await["error_type"]])
            },
            json!([true, "tool_not_found"]),
        ),
    ]
}

fn names(w: &World, agent: &[&str]) -> Vec<String> {
    let agent = Some(agent.iter().map(|name| (*name).to_owned()).collect());
    let view = w.toolcrib.catalog().view(&Arc::new(ViewRequest { agent, ..ViewRequest::default() }));
    view.tools.iter().map(|entry| entry.spec().name.to_string()).collect()
}

/// A tool of a remote server.
fn remote(server: &str, name: &str) -> Arc<ScriptedTool> {
    let schema = json!({"type": "object", "properties": {"url": {"type": "string"}, "wait": {"type": "integer"}}, "required": ["url"]});
    let name: ToolName = toolcrib_app::core::remote_name(server, name);
    Arc::new(ScriptedTool::new("work").takes(schema).spec(|s| s.name = name))
}

fn specs() -> Vec<Row> {
    let declared = async |s: Start, tool: Arc<ScriptedTool>| {
        let w = s.tool(&tool).open().await;
        let name = toolcrib_app::core::Handler::spec(&*tool).name.to_string();
        let value = w.toolcrib.declare(Format::OpenAiChat, &Arc::default(), true).value;
        value.as_array().unwrap().iter().map(|tool| tool["function"].clone()).find(|tool| tool["name"] == json!(name)).unwrap()
    };
    vec![
        row(
            "to_openai_spec(strict): \"strict\": true and \"additionalProperties\": false, every parameter required, optional ones nullable",
            async move |s| {
                let schema = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
                declared(s, Arc::new(ScriptedTool::new("work").takes(schema))).await
            },
            json!({"strict": true, "parameters": {"additionalProperties": false, "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}}}}),
        ),
        row(
            "MCP-prefixed tools are excluded from strict mode",
            async |s| {
                let w = s.tool(&remote("browser", "navigate")).open().await;
                let value = w.toolcrib.declare(Format::OpenAiChat, &Arc::default(), true).value;
                value.as_array().unwrap().iter().map(|tool| tool["function"].clone()).find(|tool| tool["name"] == "browser__navigate").unwrap()
            },
            json!({"name": "browser__navigate", "strict": null, "parameters": {"required": ["url"], "additionalProperties": null}}),
        ),
        row(
            "required: none given means none, never the first parameter",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("work").takes(json!({"type": "object", "properties": {"a": {"type": "string"}}})));
                s.tool(&tool).call("work", json!({})).await
            },
            json!({"status": "success"}),
        ),
        row(
            "build_tool_definitions(allowed_tools): exactly these",
            async |s| {
                let w = s.open().await;
                json!([names(&w, &["read_file", "list_dir"]), names(&w, &["*_file"]), names(&w, &["group:time"])])
            },
            json!([["read_file", "list_dir"], ["read_file", "write_file", "edit_file", "delete_file"], ["get_current_time"]]),
        ),
        row(
            "expand_allowed_tools: a server's short name means its tools",
            async |s| {
                let w = s.open().await;
                let (a, b) = (remote("browser", "navigate"), remote("browser", "click"));
                w.toolcrib.catalog().attach(&source_of("browser", &[&a, &b])).await.unwrap();
                json!([names(&w, &["browser"]), names(&w, &["server:browser"]), names(&w, &["browser__navigate"])])
            },
            json!([["browser__navigate", "browser__click"], ["browser__navigate", "browser__click"], ["browser__navigate"]]),
        ),
        row(
            "tool_matches_allowlist: a prefix grants nothing",
            async |s| {
                let w = s.open().await;
                json!([names(&w, &["read"]), names(&w, &["file"]), names(&w, &["read_file_"])])
            },
            json!([[], [], []]),
        ),
        row(
            "sanitised MCP prefixes: mcp:server.tool, mcp__server__tool and server__tool are one tool",
            async |s| {
                let w = s.tool(&remote("browser", "navigate")).open().await;
                let mut ended = Vec::new();
                for name in ["browser__navigate", "mcp__browser__navigate", "mcp:browser.navigate"] {
                    ended.push(w.call(name, json!({"url": "x"})).await["status"].clone());
                }
                json!(ended)
            },
            json!(["success", "success", "success"]),
        ),
        row(
            "build_tool_instructions: text for models without native function calling",
            async |s| {
                let w = s.open().await;
                let prompt = w.toolcrib.declare(Format::Text, &Arc::default(), false).value;
                json!([prompt, prompt.as_str().unwrap().lines().filter(|line| line.starts_with("{\"name\":\"")).count()])
            },
            json!(["…<tool_call>…\"name\":\"read_file\"…\"path\"…", 14]),
        ),
        row(
            "… and their answer: one object {\"actions\": [{\"tool\", \"params\"}]}",
            async |s| {
                let w = s.file("a.txt", "A").open().await;
                let plan = json!({"actions": [{"tool": "read_file", "params": {"path": "a.txt"}}, {"tool": "get_current_time", "params": {}}]});
                w.exec(Format::Text, plan.to_string()).await
            },
            json!({
                "calls": [{"status": "success", "result": "A"}, {"status": "success"}],
                "messages": [{"role": "user", "content": "<tool_result name=\"read_file\" id=\"1\">…<tool_result name=\"get_current_time\" id=\"2\">…"}],
            }),
        ),
    ]
}

fn wrapper() -> Vec<Row> {
    vec![
        row(
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
        row(
            "fast-fail on a missing or empty required parameter",
            async |s| {
                let schema = json!({"type": "object", "required": ["command"], "properties": {"command": {"type": "string", "minLength": 1}}});
                let tool = Arc::new(ScriptedTool::new("bash_manager").takes(schema));
                let w = s.tool(&tool).open().await;
                json!([w.call("bash_manager", json!({})).await, w.call("bash_manager", json!({"command": ""})).await, tool.runs()])
            },
            json!([
                {"error_type": "validation_error", "message": "…command…"},
                {"error_type": "validation_error", "message": "…command…"}, 0,
            ]),
        ),
        row(
            "records per-tool latency and success or failure",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("work").does(|_, _| Box::pin(async {
                    tokio::time::sleep(Duration::from_millis(3)).await;
                    Ok(ToolOutput::text("ok"))
                })));
                let w = s.tool(&tool).open().await;
                w.call("work", json!({})).await;
                w.call("gone", json!({})).await;
                let records = w.records().await;
                json!([records[0], records[1], records[1]["run_nanos"].as_u64() >= Some(3_000_000), records[2]])
            },
            json!(["started", {"tool": "work", "outcome": "succeeded", "error_type": null}, true, {"asked": "gone", "outcome": "failed", "error_type": "tool_not_found"}]),
        ),
        row(
            "seed names of tools that have another one here",
            async |s| {
                let w = s.open().await;
                json!([w.call("web_fetch", json!({"url": w.web.url("/json")})).await, w.call("read_file", json!({"file_path": "gone"})).await])
            },
            json!([{"status": "success"}, {"error_type": "file_not_found", "message": "File not found: gone"}]),
        ),
    ]
}
