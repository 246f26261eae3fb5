//! Stage 8 through the pipeline.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_core::{
    Batch, Call, ErrorType, Invoker as _, Origin, OutcomeKind, Risk, RunLimits, RunSpec, RunUsage,
    ToolOutput,
};
use toolcrib_engine::Engine;
use toolcrib_testkit::{ScriptedApprover, ScriptedTool};

use crate::support::{call_in, engine, failure};

fn limited(limits: RunLimits) -> RunSpec {
    RunSpec { limits, ..RunSpec::default() }
}

#[tokio::test]
async fn calls_beyond_the_cap_are_refused_even_in_parallel() {
    let tool = Arc::new(ScriptedTool::new("work"));
    let engine = engine(Engine::builder(), &[&tool]).await;
    let run =
        engine.open_run(limited(RunLimits { calls: Some(10), ..RunLimits::default() })).unwrap();
    let calls = (0..25).map(|n| Call::new("work", json!({"n": n}))).collect();
    let mut batch = Batch::new(Origin::Model, calls);
    batch.run = Some(run);
    let answers = engine.invoke(batch).await;
    let refused = answers
        .iter()
        .filter(|a| a.outcome().unwrap().error_type() == Some(ErrorType::BudgetExceeded))
        .count();
    assert_eq!((tool.runs(), refused), (10, 15));
    assert_eq!(engine.close_run(run).unwrap().calls, 10);
}

#[tokio::test]
async fn a_result_that_exceeds_the_cap_is_kept_and_the_next_call_is_refused() {
    let tool = Arc::new(ScriptedTool::new("talk").returns(ToolOutput::text("x".repeat(4000))));
    let engine = engine(Engine::builder(), &[&tool]).await;
    let run =
        engine.open_run(limited(RunLimits { tokens: Some(100), ..RunLimits::default() })).unwrap();
    let first = call_in(&engine, run, "talk", json!({"n": 1})).await;
    assert_eq!(first.kind, OutcomeKind::Succeeded);
    let second = call_in(&engine, run, "talk", json!({"n": 2})).await;
    let (_, error_type, message) = failure(&second);
    assert_eq!(error_type, ErrorType::BudgetExceeded);
    assert!(message.contains("100 tokens"), "{message}");
    assert_eq!(second.exit_code(), 7);
}

#[tokio::test]
async fn a_call_that_could_not_run_asks_no_question() {
    let tool = Arc::new(ScriptedTool::new("risky").spec(|s| s.risk = Risk::High));
    let approver = Arc::new(ScriptedApprover::approving(1));
    let engine = engine(Engine::builder().approver(Arc::clone(&approver) as _), &[&tool]).await;
    let run =
        engine.open_run(limited(RunLimits { calls: Some(0), ..RunLimits::default() })).unwrap();
    call_in(&engine, run, "risky", json!({})).await;
    assert!(approver.asked().is_empty());
}

#[tokio::test]
async fn refused_and_unknown_calls_cost_nothing() {
    let tool = Arc::new(ScriptedTool::new("risky").spec(|s| s.risk = Risk::High));
    let engine = engine(Engine::builder(), &[&tool]).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    call_in(&engine, run, "risky", json!({})).await;
    call_in(&engine, run, "nonsense", json!({})).await;
    assert_eq!(engine.usage(run).unwrap(), RunUsage::default());
}

#[tokio::test(start_paused = true)]
async fn tool_time_counts_and_waiting_for_people_does_not() {
    struct Slow;
    impl toolcrib_core::Approver for Slow {
        fn ask<'a>(
            &'a self,
            _: &'a toolcrib_core::ApprovalRequest,
        ) -> toolcrib_core::BoxFuture<'a, toolcrib_core::ApproverReply> {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(200)).await;
                let decision = toolcrib_core::Decision::approve();
                toolcrib_core::ApproverReply::Decided { decision, by: "ann".into() }
            })
        }
    }
    let tool = Arc::new(ScriptedTool::new("risky").spec(|s| s.risk = Risk::High));
    let engine = engine(Engine::builder().approver(Arc::new(Slow)), &[&tool]).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    let outcome = call_in(&engine, run, "risky", json!({})).await;
    assert_eq!(outcome.kind, OutcomeKind::Succeeded, "200 s of waiting exceed no timeout");
    assert!(engine.usage(run).unwrap().time < Duration::from_secs(1));
}

#[tokio::test]
async fn reported_tokens_count_for_the_parents_too() {
    let engine = engine(Engine::builder(), &[]).await;
    let parent =
        engine.open_run(limited(RunLimits { tokens: Some(100), ..RunLimits::default() })).unwrap();
    let child = engine.open_run(RunSpec { parent: Some(parent), ..RunSpec::default() }).unwrap();
    engine.charge_tokens(child, 90).unwrap();
    let error = engine.charge_tokens(child, 20).unwrap_err();
    assert_eq!(error.error_type, ErrorType::BudgetExceeded);
    assert_eq!(engine.usage(parent).unwrap().tokens, 110);
}

#[tokio::test]
async fn a_stopped_run_stops_its_calls_and_its_child_runs() {
    let tool = Arc::new(ScriptedTool::new("slow").hangs());
    let engine = engine(Engine::builder(), &[&tool]).await;
    let parent = engine.open_run(RunSpec::default()).unwrap();
    let child = engine.open_run(RunSpec { parent: Some(parent), ..RunSpec::default() }).unwrap();
    let running = call_in(&engine, child, "slow", json!({}));
    tokio::pin!(running);
    assert!(futures_util::poll!(running.as_mut()).is_pending());
    engine.cancel_run(parent);
    let outcome = running.await;
    assert_eq!((outcome.kind, outcome.exit_code()), (OutcomeKind::Cancelled, 130));
}
