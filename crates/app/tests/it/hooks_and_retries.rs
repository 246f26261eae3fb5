//! Order of the pipeline's stages, hooks, retries, and the token budget.

mod registry;

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{
    Batch, Call, Context, Effect, ErrorType, Event, EventKind, Invoker as _, Origin, Permission,
    PermissionState, Risk, RunId, RunLimits, RunSpec, ToolError, ToolOutput,
};
use toolcrib_testkit::{Recorder, ScriptedApprover, ScriptedTool};

use crate::fixture::{Fixture, FixtureBuilder};
use crate::test_case::{TestCase, case, run_cases};

#[test]
fn hook_and_retry_cases() {
    let tables = [
        flow(),
        hooks(),
        retries(),
        budgets(),
        registry::registry(),
        registry::specs(),
        registry::wrapper(),
    ];
    run_cases(tables.into_iter().flatten().collect());
}

fn calls(n: u64) -> RunLimits {
    RunLimits { calls: Some(n), ..RunLimits::default() }
}

fn tokens(n: u64) -> RunLimits {
    RunLimits { tokens: Some(n), ..RunLimits::default() }
}

/// Returns a tool that every check refuses until it is permitted: high risk, a permission, in a run
/// without calls.
fn refused_everywhere() -> Arc<ScriptedTool> {
    Arc::new(
        ScriptedTool::new("work")
            .spec(|s| (s.risk, s.permissions) = (Risk::High, vec![Permission::Exec])),
    )
}

/// Returns the end of the call, whether an approver was asked, and whether the tool ran.
async fn ended(
    start: FixtureBuilder,
    exec: PermissionState,
    limits: RunLimits,
    enabled: bool,
    name: &str,
) -> Value {
    let (tool, person) = (refused_everywhere(), Arc::new(ScriptedApprover::default()));
    let w = start.tool(&tool).permission(Permission::Exec, exec).asking(&person).open().await;
    w.toolcrib.catalog().set_tools_enabled(enabled);
    let run = w.run(limits);
    let said = w.call_in(run, name, json!({})).await;
    json!({"ended": said["error_type"], "asked": person.asked().len(), "ran": tool.runs()})
}

fn flow() -> Vec<TestCase> {
    use PermissionState::{Denied, Granted};
    vec![
        case(
            "1. tools disabled check comes first, even for a name that does not exist",
            async |s| ended(s, Denied, calls(0), false, "nonsense").await,
            json!({"ended": "tools_disabled", "asked": 0, "ran": 0}),
        ),
        case(
            "2. tool existence check",
            async |s| ended(s, Denied, calls(0), true, "nonsense").await,
            json!({"ended": "tool_not_found", "asked": 0, "ran": 0}),
        ),
        case(
            "3. permission check, before anybody is asked and before the budget",
            async |s| ended(s, Denied, calls(0), true, "work").await,
            json!({"ended": "permission_denied", "asked": 0, "ran": 0}),
        ),
        case(
            "5. token budget check: nobody is asked about a call that could not run",
            async |s| ended(s, Granted, calls(0), true, "work").await,
            json!({"ended": "budget_exceeded", "asked": 0, "ran": 0}),
        ),
        case(
            "4. interactive approval for dangerous actions; no answer is no",
            async |s| ended(s, Granted, calls(9), true, "work").await,
            json!({"ended": "approval_denied", "asked": 1, "ran": 0}),
        ),
        case(
            "6. to 9.: the stages of a call that runs, in order",
            async |s| {
                let w = s.open().await;
                let answer = w
                    .toolcrib
                    .call("get_current_time", json!({}).into(), Origin::Model)
                    .await
                    .unwrap();
                json!(
                    answer
                        .outcome()
                        .unwrap()
                        .report
                        .stages
                        .iter()
                        .map(|record| record.stage)
                        .collect::<Vec<_>>()
                )
            },
            json!([
                "receive", "switch", "resolve", "decode", "repeat", "guard", "assess", "gates",
                "budget", "approve", "admit", "intent", "run", "shape", "settle",
            ]),
        ),
        case(
            "tools disabled: returns immediately, and again runs when they are enabled",
            async |s| {
                let w = s.open().await;
                w.toolcrib.catalog().set_tools_enabled(false);
                let off = w.call("get_current_time", json!({})).await;
                w.toolcrib.catalog().set_tools_enabled(true);
                json!([off, w.call("get_current_time", json!({})).await])
            },
            json!([
                {
                    "error_type": "tools_disabled",
                    "message": "Tools are disabled. Answer without calling tools.",
                },
                {"status": "success"},
            ]),
        ),
    ]
}

/// Returns the events of some calls, with the fields of a hook's context.
async fn observed(
    start: FixtureBuilder,
    tool: &Arc<ScriptedTool>,
    work: impl AsyncFnOnce(&Fixture),
) -> Value {
    let recorder = Arc::new(Recorder::default());
    let observer = Arc::clone(&recorder);
    let w = start.tool(tool).with(|builder| builder.observer(observer)).open().await;
    work(&w).await;
    w.engine().flush_observers().await;
    recorder.events().iter().map(|event: &Event| json!(event)).collect()
}

async fn one(w: &Fixture, run: Option<RunId>) {
    let context =
        Context { workspace: "shop".to_owned(), agent: "helper".to_owned(), ..Context::default() };
    let call = Call::new("work", json!({"n": 1}));
    let batch = Batch { run, context: Arc::new(context), ..Batch::new(Origin::Model, vec![call]) };
    w.all(batch).await;
}

fn hooks() -> Vec<TestCase> {
    let plain = || Arc::new(ScriptedTool::new("work"));
    vec![
        case(
            "on_before_tool: tool_name, parameters, attempt, workspace; on_after_tool: tool_name, result, duration, attempt",
            async move |s| observed(s, &plain(), async |w| one(w, None).await).await,
            json!([
                {
                    "kind": "before_tool",
                    "tool": "work",
                    "args": {"n": 1},
                    "attempt": 1,
                    "context": {"workspace": "shop"},
                },
                {
                    "kind": "after_tool",
                    "tool": "work",
                    "result": "done",
                    "attempt": 1,
                    "duration": {"nanos": "…"},
                },
            ]),
        ),
        case(
            "on_tool_error: tool_name, error, attempt",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("work").fails(ToolError::execution("The disk is full.")),
                );
                observed(s, &tool, async |w| one(w, None).await).await
            },
            json!([
                {"kind": "before_tool"},
                {
                    "kind": "tool_error",
                    "tool": "work",
                    "error_type": "execution_error",
                    "error": "The disk is full.",
                    "attempt": 1,
                },
            ]),
        ),
        case(
            "on_permission_denied: tool_name, role, workspace",
            async |s| {
                let s = s.permission(Permission::Exec, PermissionState::Denied);
                observed(s, &refused_everywhere(), async |w| one(w, None).await).await
            },
            json!([
                {
                    "kind": "permission_denied",
                    "tool": "work",
                    "context": {"workspace": "shop", "agent": "helper"},
                    "error": "Permission exec was denied…",
                },
                {"kind": "tool_error", "error_type": "permission_denied"},
            ]),
        ),
        case(
            "on_token_budget_exceeded: tool_name, parameters",
            async move |s| {
                observed(s, &plain(), async |w| one(w, Some(w.run(tokens(0)))).await).await
            },
            json!([
                {"kind": "budget_exceeded", "tool": "work", "args": {"n": 1}},
                {"kind": "tool_error", "error_type": "budget_exceeded"},
            ]),
        ),
        case(
            "on_tools_disabled",
            async move |s| {
                observed(s, &plain(), async |w| {
                    w.toolcrib.catalog().set_tools_enabled(false);
                    one(w, None).await;
                })
                .await
            },
            json!([
                {"kind": "tools_disabled", "attempt": 0},
                {"kind": "tool_error", "error_type": "tools_disabled"},
            ]),
        ),
        case(
            "on_before_tool fires once per attempt",
            async |s| {
                let tool = Arc::new(
                    ScriptedTool::new("work")
                        .fails(ToolError::new(ErrorType::NetworkError, "down")),
                );
                let events = observed(s, &tool, async |w| {
                    tokio::time::pause();
                    one(w, None).await;
                })
                .await;
                events
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|event| json!([event["kind"], event["attempt"]]))
                    .collect()
            },
            json!([
                ["before_tool", 1],
                ["retry", 1],
                ["before_tool", 2],
                ["retry", 2],
                ["before_tool", 3],
                ["tool_error", 3],
            ]),
        ),
        case(
            "hooks observe: exceptions in them are caught, and a hook that hangs delays nobody",
            async |s| {
                struct Bad;
                impl toolcrib_core::Observer for Bad {
                    fn observe<'a>(&'a self, event: &'a Event) -> toolcrib_core::BoxFuture<'a, ()> {
                        assert!(event.kind != EventKind::BeforeTool, "a broken hook");
                        Box::pin(std::future::pending())
                    }
                }
                s.with(|builder| builder.observer(Arc::new(Bad)))
                    .call("get_current_time", json!({}))
                    .await
            },
            json!({"status": "success"}),
        ),
    ]
}

/// Calls a tool with this effect that always fails with this error; returns the number of runs and
/// the seconds of delay.
async fn tried(start: FixtureBuilder, effect: Effect, error: ToolError) -> Value {
    let tool = Arc::new(ScriptedTool::new("work").fails(error).spec(|s| s.effect = effect));
    let w = start.tool(&tool).open().await;
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    w.call("work", json!({})).await;
    json!({"runs": tool.runs(), "seconds": begun.elapsed().as_secs_f64()})
}

fn retries() -> Vec<TestCase> {
    let down = || ToolError::new(ErrorType::NetworkError, "down");
    vec![
        case(
            "up to MAX_RETRIES (3) attempts with exponential backoff (1.5 ** attempt + jitter)",
            async move |s| {
                let got = tried(s, Effect::Read, down()).await;
                // 1.5 + 2.25, and up to half a second for each of two.
                let waited = got["seconds"].as_f64().unwrap();
                json!({"runs": got["runs"], "right": (3.75..4.76).contains(&waited), "waited": waited})
            },
            json!({"runs": 3, "right": true}),
        ),
        case(
            "a success ends the attempts",
            async move |s| {
                let left = std::sync::atomic::AtomicU32::new(1);
                let tool = Arc::new(ScriptedTool::new("work").does(move |_, _| {
                    let fails = left.swap(0, std::sync::atomic::Ordering::SeqCst) == 1;
                    Box::pin(std::future::ready(if fails {
                        Err(ToolError::new(ErrorType::RateLimited, "slow down"))
                    } else {
                        Ok(ToolOutput::text("ok"))
                    }))
                }));
                let w = s.tool(&tool).open().await;
                tokio::time::pause();
                json!([w.call("work", json!({})).await["result"], tool.runs()])
            },
            json!(["ok", 2]),
        ),
        case(
            "fast-fail: what failed for good is not tried again",
            async |s| tried(s, Effect::Read, ToolError::execution("2 of 7 tests failed")).await,
            json!({"runs": 1, "seconds": 0}),
        ),
        case(
            "fast-fail: file-not-found errors and workspace boundary violations, by type and not by words",
            async |s| {
                let w = s.open().await;
                w.call("read_file", json!({"path": "gone"})).await;
                w.call("read_file", json!({"path": "../gone"})).await;
                let records = w.records().await;
                json!([
                    [records[1]["error_type"], records[1]["attempts"]],
                    [records[3]["error_type"], records[3]["attempts"]]
                ])
            },
            json!([["file_not_found", 1], ["path_not_allowed", 1]]),
        ),
        case(
            "a call with side effects is never run twice",
            async move |s| tried(s, Effect::SideEffect, down()).await,
            json!({"runs": 1, "seconds": 0}),
        ),
        case(
            "… nor one that destroys",
            async |s| {
                tried(s, Effect::Destructive, ToolError::new(ErrorType::NetworkError, "down")).await
            },
            json!({"runs": 1, "seconds": 0}),
        ),
    ]
}

fn budgets() -> Vec<TestCase> {
    vec![
        case(
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
        case(
            "the budget is isolated per task: another run has its own",
            async |s| {
                let w = s.open().await;
                let (a, b) = (w.run(calls(1)), w.run(calls(1)));
                let mut ended = Vec::new();
                for run in [a, a, b] {
                    ended.push(
                        w.call_in(run, "get_current_time", json!({})).await["status"].clone(),
                    );
                }
                json!(ended)
            },
            json!(["success", "error", "success"]),
        ),
        case(
            "a child task pays from its parent's budget",
            async |s| {
                let w = s.open().await;
                let parent = w.run(calls(1));
                let child = w
                    .engine()
                    .open_run(RunSpec {
                        parent: Some(parent),
                        limits: calls(9),
                        ..RunSpec::default()
                    })
                    .unwrap();
                let first = w.call_in(child, "get_current_time", json!({})).await;
                let second = w.call_in(child, "list_dir", json!({})).await;
                json!([first, second, w.engine().usage(parent).unwrap().calls])
            },
            json!([{"status": "success"}, {"error_type": "budget_exceeded"}, 1]),
        ),
        case(
            "reset_token_budget: a new run begins at 0",
            async |s| {
                let w = s.open().await;
                let run = w.run(calls(1));
                w.call_in(run, "get_current_time", json!({})).await;
                let used = w.engine().close_run(run).unwrap().calls;
                let next = w.run(calls(1));
                json!([
                    used,
                    w.engine().usage(next).unwrap().calls,
                    w.call_in(next, "get_current_time", json!({})).await["status"]
                ])
            },
            json!([1, 0, "success"]),
        ),
        case(
            "a parallel batch cannot overdraw it",
            async |s| {
                let tool = Arc::new(ScriptedTool::new("work"));
                let w = s.tool(&tool).open().await;
                let calls_of = (0..20).map(|n| Call::new("work", json!({"n": n}))).collect();
                let batch =
                    Batch { run: Some(w.run(calls(7))), ..Batch::new(Origin::Model, calls_of) };
                let refused = w
                    .all(batch)
                    .await
                    .iter()
                    .filter(|said| said["error_type"] == "budget_exceeded")
                    .count();
                json!([tool.runs(), refused])
            },
            json!([7, 13]),
        ),
        case(
            "over budget with the result: the result is kept, the next call is refused",
            async |s| {
                let tool =
                    Arc::new(ScriptedTool::new("talk").returns(ToolOutput::text("x".repeat(1000))));
                let w = s.tool(&tool).open().await;
                let run = w.run(tokens(100));
                json!([
                    w.call_in(run, "talk", json!({"n": 1})).await,
                    w.call_in(run, "talk", json!({"n": 2})).await,
                    tool.runs()
                ])
            },
            json!([{"status": "success", "result": "xxx…"}, {"error_type": "budget_exceeded"}, 1]),
        ),
    ]
}
