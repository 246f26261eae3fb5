//! Stores that fail: a call without a record does not run, and the result of a call that ran is not
//! discarded.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use toolcrib_core::{
    Batch, BoxFuture, Call, CallStore as _, Effect, ErrorType, Event, EventKind, Observer, Origin,
    OutcomeKind, Stage, StageVerdict, StoreError,
};
use toolcrib_engine::store::MemoryCalls;
use toolcrib_engine::{Engine, SubmitError};
use toolcrib_testkit::ScriptedTool;

use crate::failing_store::{FailingCalls, Part};
use crate::support::{call, engine, failure, text};

/// Errors of a failing store, and the resulting text for the model.
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
        // On a full disk, calls that only read continue.
        let stops =
            |fault: &StoreError| effect != Effect::Pure || !matches!(fault, StoreError::Full(_));
        for (fault, words) in faults().into_iter().filter(|(fault, _)| stops(fault)) {
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
            // The store works again without a restart.
            store.fail(Part::Begin, None);
            assert_eq!(text(&call(&engine, "work", json!({})).await), "done");
            assert_eq!(tool.runs(), 1);
        }
    }
}

/// An answer reports only recorded outcomes: a result without a record is not a success.
#[tokio::test]
async fn a_result_whose_record_could_not_be_written_is_kept_and_says_so() {
    for (fault, _) in faults() {
        let tool = Arc::new(ScriptedTool::new("work").spec(|s| s.effect = Effect::SideEffect));
        let store = FailingCalls::over(&Arc::default());
        let engine = engine(Engine::builder().calls(Arc::clone(&store) as _), &[&tool]).await;
        store.fail(Part::Settle, fault.clone());
        let outcome = call(&engine, "work", json!({})).await;
        let (kind, error_type, message) = failure(&outcome);
        assert_eq!((kind, error_type), (OutcomeKind::Unknown, ErrorType::NotRecorded));
        assert!(message.contains(&fault.to_string()), "{message}");
        let end = outcome.unrecorded.as_ref().unwrap();
        assert_eq!(end.kind, OutcomeKind::Succeeded);
        assert_eq!(end.result.as_ref().unwrap().result, json!("done"));
        let wire = outcome.to_wire();
        assert_eq!(
            (&wire["status"], &wire["unrecorded"]["result"], &wire["unrecorded"]["outcome"]),
            (&json!("error"), &json!("done"), &json!("succeeded"))
        );
        let last = outcome.report.stages.last().unwrap();
        assert_eq!((last.stage, last.verdict), (Stage::Settle, StageVerdict::Changed));
        assert!(last.note.contains(&fault.to_string()), "{}", last.note);
        // Until the store takes it, it is open; after the end of this process it is unknown.
        let open = store.inner.open_calls().await.unwrap();
        assert_eq!(open.iter().map(|row| row.facts.call).collect::<Vec<_>>(), [outcome.call]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_the_store_could_not_take_is_recorded_when_it_works_again() {
    let tool = Arc::new(ScriptedTool::new("work").spec(|s| s.effect = Effect::SideEffect));
    let store = FailingCalls::over(&Arc::default());
    let engine = engine(Engine::builder().calls(Arc::clone(&store) as _), &[&tool]).await;
    store.fail(Part::Settle, StoreError::Busy("away for 45 s".into()));
    let outcome = call(&engine, "work", json!({})).await;
    assert_eq!(failure(&outcome).1, ErrorType::NotRecorded);
    // Time is simulated: nothing here waits.
    tokio::time::sleep(Duration::from_secs(45)).await;
    store.fail(Part::Settle, None);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let stored = store.inner.call(outcome.call).await.unwrap().unwrap();
    assert_eq!(stored.row.end.unwrap().outcome, OutcomeKind::Succeeded);
    assert_eq!(tool.runs(), 1);
}

#[tokio::test]
async fn a_log_line_of_an_outcome_comes_after_its_record() {
    struct Seen(Mutex<Vec<(EventKind, Option<ErrorType>)>>);
    impl Observer for Seen {
        fn wants(&self, kind: EventKind) -> bool {
            matches!(kind, EventKind::AfterTool | EventKind::ToolError)
        }
        fn observe<'a>(&'a self, event: &'a Event) -> BoxFuture<'a, ()> {
            self.0.lock().unwrap().push((event.kind, event.error_type));
            Box::pin(std::future::ready(()))
        }
    }
    let seen = Arc::new(Seen(Mutex::default()));
    let tool = Arc::new(ScriptedTool::new("work").spec(|s| s.effect = Effect::SideEffect));
    let store = FailingCalls::over(&Arc::default());
    let builder = Engine::builder().calls(Arc::clone(&store) as _).observer(Arc::clone(&seen) as _);
    let engine = engine(builder, &[&tool]).await;
    store.fail(Part::Settle, StoreError::Failed("gone".into()));
    call(&engine, "work", json!({})).await;
    store.fail(Part::Settle, None);
    call(&engine, "work", json!({})).await;
    engine.flush_observers().await;
    assert_eq!(
        *seen.0.lock().unwrap(),
        [(EventKind::ToolError, Some(ErrorType::NotRecorded)), (EventKind::AfterTool, None)]
    );
}

#[tokio::test]
async fn tools_that_only_read_work_on_a_full_disk() {
    let full = || StoreError::Full("no space left".into());
    for (effect, runs) in [(Effect::Pure, 1), (Effect::Read, 1), (Effect::Idempotent, 0)] {
        let tool = Arc::new(ScriptedTool::new("work").spec(|s| s.effect = effect));
        let store = FailingCalls::over(&Arc::default());
        let engine = engine(Engine::builder().calls(Arc::clone(&store) as _), &[&tool]).await;
        store.fail(Part::Begin, full());
        store.fail(Part::Settle, full());
        let outcome = call(&engine, "work", json!({})).await;
        assert_eq!(tool.runs(), runs, "{effect:?}");
        if runs == 1 {
            assert_eq!(text(&outcome), "done");
            assert!(outcome.notes[0].contains("could not be recorded"), "{:?}", outcome.notes);
        } else {
            assert_eq!(failure(&outcome).1, ErrorType::StoreFailed);
        }
    }
}

/// Regression: the call was reported as failed and ran 43 s later.
#[tokio::test]
async fn an_accepted_call_that_could_not_start_is_not_told_as_failed() {
    let tool = Arc::new(ScriptedTool::new("work").spec(|s| s.effect = Effect::SideEffect));
    let store = FailingCalls::over(&Arc::default());
    let engine = engine(Engine::builder().calls(Arc::clone(&store) as _), &[&tool]).await;
    let batch = || Batch::new(Origin::Rest, vec![Call::new("work", json!({}))]);
    store.fail(Part::Begin, StoreError::Busy("away for 45 s".into()));
    store.fail(Part::Settle, StoreError::Busy("away for 45 s".into()));
    let told = engine.invoke_once(batch(), "order-17").await;
    let told = told.unwrap_err();
    assert_eq!(told, SubmitError::RunningElsewhere("order-17".into()));
    assert!(told.to_string().contains("are accepted"), "{told}");
    assert_eq!(tool.runs(), 0);
    store.fail(Part::Begin, None);
    store.fail(Part::Settle, None);
    for _ in 0..2 {
        let answers = engine.invoke_once(batch(), "order-17").await.unwrap();
        assert_eq!(text(answers[0].outcome().unwrap()), "done");
    }
    assert_eq!(tool.runs(), 1);
}

#[tokio::test]
async fn a_result_without_a_record_is_the_answer_under_its_key() {
    let tool = Arc::new(ScriptedTool::new("work").spec(|s| s.effect = Effect::SideEffect));
    let store = FailingCalls::over(&Arc::default());
    let engine = engine(Engine::builder().calls(Arc::clone(&store) as _), &[&tool]).await;
    let batch = Batch::new(Origin::Rest, vec![Call::new("work", json!({}))]);
    store.fail(Part::Settle, StoreError::Failed("I/O error".into()));
    let answers = engine.invoke_once(batch, "order-17").await.unwrap();
    let outcome = answers[0].outcome().unwrap();
    assert_eq!(failure(outcome).1, ErrorType::NotRecorded);
    assert!(outcome.unrecorded.is_some());
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
    let found = memory.recover(next, 9).await.unwrap();
    assert_eq!(found.unknown, [open.facts.call]);
}
