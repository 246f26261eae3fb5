//! Guards and observers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_core::hook::GuardInput;
use toolcrib_core::{
    BoxFuture, ErrorType, EventKind, Guard, GuardVerdict, Invoker as _, OutcomeKind, Risk,
    RunLimits, RunSpec, ToolError,
};
use toolcrib_engine::Engine;
use toolcrib_testkit::{Recorder, ScriptedApprover, ScriptedTool};

use crate::support::{call, call_in, engine, failure};

struct Scripted(fn(&GuardInput<'_>) -> Result<GuardVerdict, String>);

impl Guard for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }
    fn check<'a>(
        &'a self,
        call: &'a GuardInput<'a>,
    ) -> BoxFuture<'a, Result<GuardVerdict, String>> {
        Box::pin(async move { (self.0)(call) })
    }
}

struct Hanging;

impl Guard for Hanging {
    fn name(&self) -> &str {
        "hanging"
    }
    fn check<'a>(&'a self, _: &'a GuardInput<'a>) -> BoxFuture<'a, Result<GuardVerdict, String>> {
        Box::pin(std::future::pending())
    }
}

fn numbered() -> Arc<ScriptedTool> {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    Arc::new(ScriptedTool::new("work").takes(schema))
}

#[tokio::test]
async fn a_guard_may_refuse_or_rewrite_and_whatever_goes_wrong_in_it_denies() {
    type Check = fn(&GuardInput<'_>) -> Result<GuardVerdict, String>;
    let cases: [(Check, Result<i64, ErrorType>); 6] = [
        (|_| Ok(GuardVerdict::Continue), Ok(1)),
        (|_| Ok(GuardVerdict::Rewrite(json!({"n": 5}))), Ok(5)),
        (|_| Ok(GuardVerdict::Rewrite(json!({"n": "x"}))), Err(ErrorType::ValidationError)),
        (|_| Ok(GuardVerdict::Deny("no".into())), Err(ErrorType::PolicyDenied)),
        (|_| Err("unreadable".into()), Err(ErrorType::PolicyDenied)),
        (|_| panic!("guard broke"), Err(ErrorType::PolicyDenied)),
    ];
    for (i, (check, expected)) in cases.into_iter().enumerate() {
        let tool = numbered();
        let builder = Engine::builder().guard(Arc::new(Scripted(check)));
        let outcome = call(&engine(builder, &[&tool]).await, "work", json!({"n": 1})).await;
        match expected {
            Ok(n) => assert_eq!(tool.seen(), [json!({"n": n})], "case {i}"),
            Err(error_type) => {
                assert_eq!(failure(&outcome).1, error_type, "case {i}");
                assert_eq!(tool.runs(), 0);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_hangs_denies_after_two_seconds() {
    let tool = numbered();
    let engine = engine(Engine::builder().guard(Arc::new(Hanging)), &[&tool]).await;
    let begun = tokio::time::Instant::now();
    let outcome = call(&engine, "work", json!({})).await;
    assert_eq!(failure(&outcome).1, ErrorType::PolicyDenied);
    assert_eq!(begun.elapsed().as_secs(), 2);
}

async fn observed(tool: ScriptedTool, approver: Option<ScriptedApprover>) -> Vec<EventKind> {
    let tool = Arc::new(tool);
    let recorder = Arc::new(Recorder::default());
    let mut builder = Engine::builder().observer(Arc::clone(&recorder) as _);
    if let Some(approver) = approver {
        builder = builder.approver(Arc::new(approver));
    }
    let engine = engine(builder, &[&tool]).await;
    call(&engine, tool_name(&tool), json!({})).await;
    assert_eq!(engine.flush_observers().await, 0);
    recorder.kinds()
}

fn tool_name(tool: &ScriptedTool) -> &str {
    use toolcrib_core::Handler as _;
    tool.spec().name.as_str()
}

#[tokio::test(start_paused = true)]
async fn observers_are_told_of_every_turn_of_a_call() {
    use EventKind as E;
    let plain = || ScriptedTool::new("work");
    let risky = || plain().spec(|s| s.risk = Risk::High);
    let network = || plain().fails(ToolError::new(ErrorType::NetworkError, "down"));
    assert_eq!(observed(plain(), None).await, [E::BeforeTool, E::AfterTool]);
    assert_eq!(
        observed(network(), None).await,
        [E::BeforeTool, E::Retry, E::BeforeTool, E::Retry, E::BeforeTool, E::ToolError]
    );
    assert_eq!(observed(risky(), None).await, [E::ToolError]);
    assert_eq!(
        observed(risky(), Some(ScriptedApprover::approving(1))).await,
        [E::ApprovalRequired, E::ApprovalDecided, E::BeforeTool, E::AfterTool]
    );
    let slow = plain().hangs().spec(|s| (s.timeout, s.attempts) = (Duration::from_secs(1), 1));
    assert_eq!(observed(slow, None).await, [E::BeforeTool, E::Timeout, E::ToolError]);
}

#[tokio::test]
async fn observers_are_told_of_refusals() {
    let tool = numbered();
    let recorder = Arc::new(Recorder::default());
    let builder =
        Engine::builder().observer(Arc::clone(&recorder) as _).guard(Arc::new(Scripted(|call| {
            match call.args["n"].as_i64() {
                Some(9) => Ok(GuardVerdict::Deny("nine".into())),
                _ => Ok(GuardVerdict::Continue),
            }
        })));
    let engine = engine(builder, &[&tool]).await;
    call(&engine, "work", json!({"n": 9})).await;
    let limits = RunLimits { calls: Some(0), ..RunLimits::default() };
    let run = engine.open_run(RunSpec { limits, ..RunSpec::default() }).unwrap();
    call_in(&engine, run, "work", json!({})).await;
    engine.catalog().set_tools_enabled(false);
    let outcome = call(&engine, "work", json!({})).await;
    assert_eq!(outcome.kind, OutcomeKind::Denied);
    engine.flush_observers().await;
    let kinds = recorder.kinds();
    for kind in [EventKind::PermissionDenied, EventKind::BudgetExceeded, EventKind::ToolsDisabled] {
        assert!(kinds.contains(&kind), "{kind:?} missing in {kinds:?}");
    }
    let event = &recorder.events()[0];
    assert_eq!((event.kind, event.tool.as_str()), (EventKind::PermissionDenied, "work"));
    assert_eq!(event.args.as_deref(), Some(&json!({"n": 9})));
}
