//! Stores that fail: what is not written does not run, and what ran is not thrown away.

use std::sync::Arc;

use serde_json::json;
use toolcrib_core::{
    CallStore as _, Effect, ErrorType, OutcomeKind, Stage, StageVerdict, StoreError,
};
use toolcrib_engine::Engine;
use toolcrib_engine::store::MemoryCalls;
use toolcrib_testkit::ScriptedTool;

use crate::failing_store::{FailingCalls, Part};
use crate::support::{call, engine, failure, text};

/// What a failing store says, and what a model reads then.
fn faults() -> [(StoreError, &'static str); 5] {
    [
        (StoreError::Full("no space left".into()), "the disk is full"),
        (StoreError::Busy("held for 5 s".into()), "the store is busy"),
        (StoreError::Failed("I/O error".into()), "(store failed: I/O error)"),
        (StoreError::Fenced { current: 2, claimed: 1 }, "belongs to epoch 2, not 1"),
        (StoreError::Conflict("call_1".into()), "was started before"),
    ]
}

#[tokio::test]
async fn nothing_runs_without_an_intent_record() {
    for effect in [Effect::Pure, Effect::Idempotent, Effect::Destructive] {
        for (fault, words) in faults() {
            let tool = Arc::new(ScriptedTool::new("work").spec(|s| s.effect = effect));
            let store = FailingCalls::over(&Arc::default());
            let engine = engine(Engine::builder().calls(Arc::clone(&store) as _), &[&tool]).await;
            store.fail(Part::Begin, fault.clone());
            let outcome = call(&engine, "work", json!({})).await;
            let (kind, error_type, message) = failure(&outcome);
            assert_eq!((kind, error_type), (OutcomeKind::Failed, ErrorType::StoreFailed));
            assert!(message.contains(words), "{message}");
            assert!(message.contains("not run"), "{message}");
            assert_eq!(tool.runs(), 0);
            let last = outcome.report.stages.iter().rev().find(|s| s.stage != Stage::Settle);
            assert_eq!(
                last.map(|s| (s.stage, s.verdict)),
                Some((Stage::Intent, StageVerdict::Stopped))
            );
            // It works again without a restart.
            store.fail(Part::Begin, None);
            assert_eq!(text(&call(&engine, "work", json!({})).await), "done");
            assert_eq!(tool.runs(), 1);
        }
    }
}

#[tokio::test]
async fn a_result_whose_record_could_not_be_written_is_kept_and_says_so() {
    for (fault, _) in faults() {
        let tool = Arc::new(ScriptedTool::new("work").spec(|s| s.effect = Effect::SideEffect));
        let store = FailingCalls::over(&Arc::default());
        let engine = engine(Engine::builder().calls(Arc::clone(&store) as _), &[&tool]).await;
        store.fail(Part::Settle, fault.clone());
        let outcome = call(&engine, "work", json!({})).await;
        assert_eq!(text(&outcome), "done");
        let last = outcome.report.stages.last().unwrap();
        assert_eq!((last.stage, last.verdict), (Stage::Settle, StageVerdict::Changed));
        assert!(last.note.contains(&fault.to_string()), "{}", last.note);
        // Nobody settled it: after the end of this process it is unknown, which is true.
        let open = store.inner.open_calls().await.unwrap();
        assert_eq!(open.iter().map(|row| row.facts.call).collect::<Vec<_>>(), [outcome.call]);
    }
}

#[tokio::test]
async fn without_a_claim_nothing_runs() {
    for part in [Part::Claim, Part::Recover] {
        let tool = Arc::new(ScriptedTool::new("work"));
        let store = FailingCalls::over(&Arc::default());
        let engine = engine(Engine::builder().calls(Arc::clone(&store) as _), &[&tool]).await;
        store.fail(part, StoreError::Failed("no such file".into()));
        let outcome = call(&engine, "work", json!({})).await;
        let (kind, error_type, message) = failure(&outcome);
        assert_eq!((kind, error_type), (OutcomeKind::Failed, ErrorType::StoreFailed));
        assert!(message.contains("no such file") && message.contains("not run"), "{message}");
        assert_eq!(tool.runs(), 0);
        store.fail(part, None);
        assert_eq!(text(&call(&engine, "work", json!({})).await), "done");
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_settled_when_it_is_dropped_is_left_open() {
    let tool = Arc::new(ScriptedTool::new("slow").hangs().spec(|s| s.effect = Effect::SideEffect));
    let memory = Arc::new(MemoryCalls::default());
    let store = FailingCalls::over(&memory);
    let engine = engine(Engine::builder().calls(Arc::clone(&store) as _), &[&tool]).await;
    {
        let running = call(&engine, "slow", json!({}));
        tokio::pin!(running);
        assert!(futures_util::poll!(running.as_mut()).is_pending());
        store.fail(Part::Settle, StoreError::Failed("gone".into()));
    }
    let [open] = &memory.open_calls().await.unwrap()[..] else { panic!("one call is open") };
    let next = memory.claim().await.unwrap();
    memory.release(open.epoch).await.unwrap();
    let found = memory.recover(next, 9, true).await.unwrap();
    assert_eq!(found.unknown, [open.facts.call]);
}
