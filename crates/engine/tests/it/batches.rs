//! Batches: concurrent calls, ordered answers, a concurrency limit, and one call at a time per
//! concurrency key.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use toolcrib_core::{
    Access, Answer, Assessment, Batch, Call, Invoker as _, Origin, OutcomeKind, ToolOutput,
};
use toolcrib_engine::{Engine, EngineSettings};
use toolcrib_testkit::ScriptedTool;

use crate::support::{engine, text};

fn batch(calls: impl IntoIterator<Item = Call>) -> Batch {
    Batch::new(Origin::Model, calls.into_iter().collect())
}

fn texts(answers: &[Answer]) -> Vec<&str> {
    answers.iter().map(|answer| text(answer.outcome().unwrap())).collect()
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side_and_answers_keep_the_order() {
    let tool = Arc::new(ScriptedTool::new("wait").does(|_, args| {
        let ms = args["ms"].as_u64().unwrap();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(ToolOutput::text(ms.to_string()))
        })
    }));
    let engine = engine(Engine::builder(), &[&tool]).await;
    let begun = tokio::time::Instant::now();
    let waits = [300, 100, 200, 300];
    let answers = engine.invoke(batch(waits.map(|ms| Call::new("wait", json!({"ms": ms}))))).await;
    assert_eq!(texts(&answers), ["300", "100", "200", "300"]);
    assert!(begun.elapsed() < Duration::from_millis(400));
}

/// A tool that counts its concurrent calls.
fn counting(most: &Arc<AtomicUsize>) -> ScriptedTool {
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::clone(most));
    ScriptedTool::new("count").does(move |_, _| {
        let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
        Box::pin(async move {
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok(ToolOutput::text("ok"))
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_batch_runs_at_most_as_many_as_its_cap() {
    let most = Arc::new(AtomicUsize::new(0));
    let tool = Arc::new(counting(&most));
    let engine = engine(Engine::builder(), &[&tool]).await;
    let calls = (0..100).map(|n| Call::new("count", json!({"n": n})));
    let answers = engine.invoke(batch(calls)).await;
    assert_eq!((answers.len(), tool.runs()), (100, 100));
    assert_eq!(most.load(Ordering::SeqCst), 32);
}

#[tokio::test(start_paused = true)]
async fn a_tools_own_limit_holds_across_batches() {
    let most = Arc::new(AtomicUsize::new(0));
    let tool = Arc::new(counting(&most));
    let mut settings = EngineSettings::default();
    settings.tools.entry("count".into()).or_default().max_concurrent = Some(2);
    let engine = engine(Engine::builder().settings(settings), &[&tool]).await;
    let some = || batch((0..10).map(|n| Call::new("count", json!({"n": n}))));
    let (a, b) = tokio::join!(engine.invoke(some()), engine.invoke(some()));
    assert_eq!((a.len() + b.len(), tool.runs()), (20, 20));
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_is_held_by_one_writer_at_a_time_in_the_order_of_the_batch() {
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let written = Arc::clone(&log);
    let tool = ScriptedTool::new("append")
        .assesses(
            |spec, _| Ok(Assessment::from_spec(spec).with_lock("file:log", Access::Exclusive)),
        )
        .does(move |_, args| {
            let (log, n) = (Arc::clone(&written), args["n"].as_u64().unwrap());
            Box::pin(async move {
                log.lock().unwrap().push(n);
                tokio::task::yield_now().await;
                log.lock().unwrap().push(n);
                Ok(ToolOutput::text("ok"))
            })
        });
    let tool = Arc::new(tool);
    let engine = engine(Engine::builder(), &[&tool]).await;
    engine.invoke(batch((0..50).map(|n| Call::new("append", json!({"n": n}))))).await;
    let expected: Vec<u64> = (0..50).flat_map(|n| [n, n]).collect();
    assert_eq!(*log.lock().unwrap(), expected);
}

#[tokio::test]
async fn one_failing_call_does_not_touch_the_others() {
    let good = Arc::new(ScriptedTool::new("good"));
    let bad = Arc::new(ScriptedTool::new("bad").does(|_, _| panic!("boom")));
    let engine = engine(Engine::builder(), &[&good, &bad]).await;
    let calls = ["good", "bad", "good"].map(|name| Call::new(name, json!({})));
    let answers = engine.invoke(batch(calls)).await;
    let kinds = answers.iter().map(|a| a.outcome().unwrap().kind).collect::<Vec<_>>();
    assert_eq!(kinds, [OutcomeKind::Succeeded, OutcomeKind::Failed, OutcomeKind::Succeeded]);
}

#[tokio::test]
async fn an_empty_batch_has_no_answers() {
    let engine = engine(Engine::builder(), &[]).await;
    assert!(engine.invoke(batch([])).await.is_empty());
}
