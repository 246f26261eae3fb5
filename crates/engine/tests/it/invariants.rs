//! The five invariants of the pipeline.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_core::{
    Answer, Batch, BoxFuture, Call, CallFilter, CallHistory as _, CallId, CallStore as _, Decision,
    Effect, ErrorType, Gate, GateInput, Invoker as _, Origin, Outcome, OutcomeKind, Risk,
    RunLimits, RunSpec, Stage, StageVerdict, Vote,
};
use toolcrib_engine::Engine;
use toolcrib_engine::store::MemoryCalls;
use toolcrib_testkit::{Recorder, ScriptedApprover, ScriptedTool};

use crate::support::{call, engine, failure, with};

#[tokio::test]
async fn every_stage_leaves_its_record_in_order() {
    let (engine, _) = with(ScriptedTool::new("work")).await;
    let outcome = call(&engine, "work", json!({})).await;
    let stages: Vec<Stage> = outcome.report.stages.iter().map(|record| record.stage).collect();
    assert_eq!(stages, Stage::ALL);
}

#[tokio::test]
async fn one_outcome_per_call_whatever_happens() {
    let tools = [
        Arc::new(ScriptedTool::new("fine")),
        Arc::new(ScriptedTool::new("broken").does(|_, _| panic!("boom"))),
        Arc::new(ScriptedTool::new("failing").fails(toolcrib_core::ToolError::execution("no"))),
        Arc::new(ScriptedTool::new("slow").hangs().spec(|s| s.timeout = Duration::from_millis(5))),
        Arc::new(ScriptedTool::new("risky").spec(|s| s.risk = Risk::High)),
    ];
    let store = Arc::new(MemoryCalls::default());
    let builder = Engine::builder().calls(Arc::clone(&store) as _);
    let engine = engine(builder, &tools.each_ref()).await;
    let names = ["fine", "broken", "failing", "slow", "risky", "unknown", " "];
    let calls: Vec<Call> = names.iter().map(|name| Call::new(*name, json!({}))).collect();
    let ids: Vec<CallId> = calls.iter().map(|call| call.id).collect();
    let answers = engine.invoke(Batch::new(Origin::Model, calls)).await;
    let kinds: Vec<OutcomeKind> = answers.iter().map(|a| a.outcome().unwrap().kind).collect();
    use OutcomeKind::{Denied, Failed, Succeeded, TimedOut};
    assert_eq!(kinds, [Succeeded, Failed, Failed, TimedOut, Denied, Failed, Failed]);
    for (id, answer) in ids.iter().zip(&answers) {
        assert_eq!(answer.outcome().unwrap().call, *id, "answers are in the order of the calls");
        let stored = engine.calls().call(*id).await.unwrap().unwrap();
        assert_eq!(stored.row.end.unwrap().outcome, answer.outcome().unwrap().kind);
    }
    assert!(engine.calls().open_calls().await.unwrap().is_empty());
    let filter = CallFilter { limit: usize::MAX, ..CallFilter::default() };
    let rows = store.calls(filter).await.unwrap();
    assert_eq!(rows.len(), names.len());
    assert!(rows.iter().all(|row| row.end.is_some()));
}

#[tokio::test]
async fn a_dropped_call_still_gets_its_one_outcome() {
    for (effect, expected) in
        [(Effect::Read, OutcomeKind::Cancelled), (Effect::SideEffect, OutcomeKind::Unknown)]
    {
        for store in [MemoryCalls::light(), MemoryCalls::default()] {
            let tool = Arc::new(ScriptedTool::new("slow").hangs().spec(|s| s.effect = effect));
            let store = Arc::new(store);
            let engine = engine(Engine::builder().calls(Arc::clone(&store) as _), &[&tool]).await;
            let request = Call::new("slow", json!({}));
            let id = request.id;
            let mut running = engine.invoke(Batch::new(Origin::Model, vec![request]));
            assert!(futures_util::poll!(running.as_mut()).is_pending());
            assert_eq!(tool.runs(), 1);
            drop(running);
            let stored = engine.calls().call(id).await.unwrap().unwrap();
            let end = stored.row.end.unwrap();
            assert_eq!(end.outcome, expected);
            // In a store with details, a repeated request gets the reason.
            assert_eq!(stored.outcome.is_some(), store.keeps_details());
            if let Some(outcome) = stored.outcome {
                assert_eq!(failure(&outcome).0, expected);
                assert_eq!(end.output_hash, Some(Outcome::hash_text(&outcome.to_text())));
                assert_eq!(stored.row.facts.args.as_deref(), Some("{}"));
            }
        }
    }
}

#[tokio::test]
async fn an_owner_that_is_gone_runs_nothing() {
    let (engine, tool) = with(ScriptedTool::new("work")).await;
    let epoch = engine.claim().await.unwrap();
    assert_eq!(call(&engine, "work", json!({})).await.kind, OutcomeKind::Succeeded);
    // Another process working at the same time takes nothing over.
    engine.calls().claim().await.unwrap();
    assert_eq!(call(&engine, "work", json!({})).await.kind, OutcomeKind::Succeeded);
    engine.calls().release(epoch).await.unwrap();
    let outcome = call(&engine, "work", json!({})).await;
    assert_eq!(failure(&outcome).1, ErrorType::StoreFailed);
    assert_eq!(tool.runs(), 2);
}

#[tokio::test]
async fn arguments_approved_are_arguments_run() {
    let tool = Arc::new(ScriptedTool::new("risky").spec(|s| s.risk = Risk::High));
    let edited = json!({"n": 2});
    let approver = Arc::new(ScriptedApprover::deciding([
        Decision::approve(),
        Decision::Edit { args: edited.clone() },
    ]));
    let engine = engine(Engine::builder().approver(Arc::clone(&approver) as _), &[&tool]).await;
    for _ in 0..2 {
        assert_eq!(call(&engine, "risky", json!({"n": 1})).await.kind, OutcomeKind::Succeeded);
    }
    assert_eq!(approver.asked()[0].args, tool.seen()[0]);
    assert_eq!(tool.seen(), [json!({"n": 1}), edited]);
}

struct Faulty(fn() -> Result<Vote, String>);

impl Gate for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }
    fn evaluate(&self, _: &GateInput<'_>) -> Result<Vote, String> {
        (self.0)()
    }
}

#[tokio::test]
async fn an_error_in_policy_denies() {
    for fault in [|| Err("table missing".to_owned()), || panic!("gate broke")] {
        let tool = Arc::new(ScriptedTool::new("work"));
        let engine = engine(Engine::builder().gate(Arc::new(Faulty(fault))), &[&tool]).await;
        let outcome = call(&engine, "work", json!({})).await;
        assert_eq!(failure(&outcome).1, ErrorType::PolicyDenied);
        assert_eq!(tool.runs(), 0);
    }
}

#[tokio::test]
async fn an_error_in_observation_never_blocks() {
    struct Bad;
    impl toolcrib_core::Observer for Bad {
        fn observe<'a>(&'a self, event: &'a toolcrib_core::Event) -> BoxFuture<'a, ()> {
            Box::pin(async move {
                match event.kind {
                    toolcrib_core::EventKind::BeforeTool => panic!("observer broke"),
                    _ => std::future::pending().await,
                }
            })
        }
    }
    let tool = Arc::new(ScriptedTool::new("work"));
    let recorder = Arc::new(Recorder::default());
    let builder = Engine::builder().observer(Arc::new(Bad)).observer(Arc::clone(&recorder) as _);
    let engine = engine(builder, &[&tool]).await;
    let ran = AssertUnwindSafe(call(&engine, "work", json!({})));
    let outcome = tokio::time::timeout(Duration::from_secs(1), ran.0).await.unwrap();
    assert_eq!(outcome.kind, OutcomeKind::Succeeded);
}

#[tokio::test]
async fn calls_of_a_chain_pass_the_same_stages_with_their_parents_budget() {
    let tool = Arc::new(ScriptedTool::new("work"));
    let risky = Arc::new(ScriptedTool::new("risky").spec(|s| s.risk = Risk::High));
    let engine = engine(Engine::builder(), &[&tool, &risky]).await;
    let limits = RunLimits { calls: Some(2), ..RunLimits::default() };
    let parent = engine.open_run(RunSpec { limits, ..RunSpec::default() }).unwrap();
    let chain = engine.open_run(RunSpec { parent: Some(parent), ..RunSpec::default() }).unwrap();
    let step = |name: &str, n: u64| {
        let mut batch = Batch::new(Origin::Chain, vec![Call::new(name, json!({"n": n}))]);
        batch.run = Some(chain);
        batch
    };
    let outcome = crate::support::one(&engine, step("work", 0)).await;
    assert_eq!(outcome.report.stages.len(), Stage::ALL.len());
    let denied = crate::support::one(&engine, step("risky", 1)).await;
    assert_eq!(failure(&denied).1, ErrorType::ApprovalDenied);
    crate::support::one(&engine, step("work", 2)).await;
    let third = crate::support::one(&engine, step("work", 3)).await;
    assert_eq!(failure(&third).1, ErrorType::BudgetExceeded);
    assert_eq!(engine.usage(parent).unwrap().calls, 2);
    let last = third.report.stages.last().unwrap();
    assert_eq!((last.stage, last.verdict), (Stage::Settle, StageVerdict::Pass));
}

#[tokio::test]
async fn a_suspended_call_is_no_outcome_and_holds_no_budget() {
    let tool = Arc::new(ScriptedTool::new("risky").spec(|s| s.risk = Risk::High));
    let approver = Arc::new(ScriptedApprover::new([toolcrib_core::ApproverReply::Deferred]));
    let engine = engine(Engine::builder().approver(approver), &[&tool]).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    let mut batch = Batch::new(Origin::Model, vec![Call::new("risky", json!({}))]);
    batch.run = Some(run);
    let id = batch.calls[0].id;
    let answers = engine.invoke(batch).await;
    assert!(matches!(answers[..], [Answer::Suspended(_)]));
    assert_eq!(engine.calls().call(id).await.unwrap(), None);
    assert_eq!(engine.usage(run).unwrap().calls, 0);
}
