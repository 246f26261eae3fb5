//! Stage 4 through the pipeline.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{Batch, Call, Effect, ErrorType, Invoker as _, Origin, RunSpec, ToolError};
use toolcrib_engine::Engine;
use toolcrib_testkit::ScriptedTool;

use crate::support::{call, call_in, engine, failure, with};

fn repeated(outcome: &toolcrib_core::Outcome) -> bool {
    outcome.error_type() == Some(ErrorType::RepeatedCall)
}

#[tokio::test]
async fn the_third_identical_call_of_a_run_is_not_run_whatever_the_order_of_its_keys() {
    let (engine, tool) = with(ScriptedTool::new("work")).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    let a: Value = serde_json::from_str(r#"{"x":1,"y":2}"#).unwrap();
    let b: Value = serde_json::from_str(r#"{"y":2,"x":1}"#).unwrap();
    assert!(!repeated(&call_in(&engine, run, "work", a.clone()).await));
    assert!(!repeated(&call_in(&engine, run, "work", b).await));
    let third = call_in(&engine, run, "work", a).await;
    assert!(repeated(&third));
    assert!(failure(&third).2.starts_with("You have made the same calls three times"));
    assert_eq!(tool.runs(), 2);
}

#[tokio::test]
async fn a_cycle_of_two_is_seen() {
    let (engine, tool) = with(ScriptedTool::new("work")).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    let mut refused = 0;
    for i in 0..6 {
        refused += usize::from(repeated(&call_in(&engine, run, "work", json!({"n": i % 2})).await));
    }
    assert_eq!((tool.runs(), refused), (5, 1));
}

#[tokio::test]
async fn the_same_error_three_times_refuses_the_tool() {
    let (engine, tool) = with(ScriptedTool::new("bad").fails(ToolError::execution("no"))).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    for i in 0..3 {
        assert!(!repeated(&call_in(&engine, run, "bad", json!({"n": i})).await));
    }
    assert!(repeated(&call_in(&engine, run, "bad", json!({"n": 3})).await));
    assert_eq!(tool.runs(), 3);
}

#[tokio::test]
async fn polling_tools_chains_and_calls_outside_a_run_are_exempt() {
    let poll = Arc::new(ScriptedTool::new("poll").spec(|s| s.polling = true));
    let work = Arc::new(ScriptedTool::new("work"));
    let engine = engine(Engine::builder(), &[&poll, &work]).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    for _ in 0..5 {
        assert!(!repeated(&call_in(&engine, run, "poll", json!({})).await));
        assert!(!repeated(&call(&engine, "work", json!({})).await));
        let mut chained = Batch::new(Origin::Chain, vec![Call::new("work", json!({}))]);
        chained.run = Some(run);
        assert!(!repeated(&crate::support::one(&engine, chained).await));
    }
}

/// Found in review: a hundred identical calls that write, in one answer, ran a hundred times.
#[tokio::test]
async fn identical_calls_of_one_batch_that_change_something_run_twice() {
    let writes = Arc::new(ScriptedTool::new("writes").spec(|s| s.effect = Effect::SideEffect));
    let reads = Arc::new(ScriptedTool::new("reads").spec(|s| s.effect = Effect::Read));
    let engine = engine(Engine::builder(), &[&writes, &reads]).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    let batch = |tool: &str, different: usize| {
        let calls = (0..100).map(|n| Call::new(tool, json!({"n": n % different}))).collect();
        Batch { run: Some(run), ..Batch::new(Origin::Model, calls) }
    };
    let answers = engine.invoke(batch("writes", 1)).await;
    let refused = answers.iter().filter(|answer| repeated(answer.outcome().unwrap())).count();
    assert_eq!((writes.runs(), refused), (2, 98));
    assert!(failure(answers[99].outcome().unwrap()).2.contains("the first 2 run"));
    engine.invoke(batch("writes", 100)).await;
    assert_eq!(writes.runs(), 102, "different arguments are different calls");
    engine.invoke(batch("reads", 1)).await;
    assert_eq!(reads.runs(), 100, "what changes nothing may be read again");
}

#[tokio::test]
async fn a_repeated_batch_answers_every_one_of_its_calls() {
    let (engine, tool) = with(ScriptedTool::new("work")).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    let mut last = Vec::new();
    for _ in 0..3 {
        let calls = (0..3).map(|n| Call::new("work", json!({"n": n}))).collect();
        let mut batch = Batch::new(Origin::Model, calls);
        batch.run = Some(run);
        last = engine.invoke(batch).await;
    }
    assert_eq!(last.len(), 3);
    assert!(last.iter().all(|answer| repeated(answer.outcome().unwrap())));
    assert_eq!(tool.runs(), 6);
}
