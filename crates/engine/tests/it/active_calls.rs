//! Running calls, and stopping one call of many.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_core::{
    Answer, ApprovalRequest, Approver, ApproverReply, Batch, BoxFuture, Call, CallId, Context,
    Decision, Effect, ErrorType, Invoker as _, Origin, OutcomeKind, RunSpec, ToolError,
};
use toolcrib_engine::{Engine, EngineSettings, Preset};
use toolcrib_testkit::{FakeClock, ScriptedTool};

use crate::support::{engine, failure};

fn hanging(name: &str, effect: Effect) -> Arc<ScriptedTool> {
    Arc::new(ScriptedTool::new(name).hangs().spec(|s| s.effect = effect))
}

fn one_call(name: &str) -> (CallId, Batch) {
    let call = Call::new(name, json!({}));
    (call.id, Batch::new(Origin::Model, vec![call]))
}

#[tokio::test]
async fn calls_at_work_are_listed_until_they_have_ended() {
    let tools = [hanging("slow", Effect::Read), Arc::new(ScriptedTool::new("quick"))];
    let clock = Arc::new(FakeClock::at(1_000));
    let engine = engine(Engine::builder().clock(Arc::clone(&clock) as _), &tools.each_ref()).await;
    assert_eq!((engine.running_calls(), engine.active_call_count()), (Vec::new(), 0));
    let run = engine.open_run(RunSpec::default()).unwrap();
    let (id, batch) = one_call("slow");
    let context = Arc::new(Context { agent: "ann".into(), ..Context::default() });
    let batch = Batch { run: Some(run), context: Arc::clone(&context), ..batch };
    let slow = engine.invoke(batch);
    tokio::pin!(slow);
    assert!(futures_util::poll!(slow.as_mut()).is_pending());
    clock.advance(5);
    let running = engine.running_calls();
    assert_eq!(running.len(), 1);
    let call = &running[0];
    assert_eq!((call.call, call.run, call.tool.as_str()), (id, Some(run), "slow"));
    assert_eq!((call.origin, &call.context, call.effect), (Origin::Model, &context, Effect::Read));
    assert_eq!((call.started_at_ms, engine.active_call_count()), (1_000, 1));
    // Ended calls leave the table, and dry runs never enter it.
    engine.invoke(one_call("quick").1).await;
    engine.dry_run(one_call("quick").1).await;
    assert_eq!((engine.running_calls().len(), engine.active_call_count()), (1, 1));
    assert!(engine.cancel_call(id));
    slow.await;
    assert_eq!((engine.running_calls(), engine.active_call_count()), (Vec::new(), 0));
    assert!(!engine.cancel_call(id));
    let dropped = engine.invoke(one_call("slow").1);
    {
        tokio::pin!(dropped);
        assert!(futures_util::poll!(dropped.as_mut()).is_pending());
        assert_eq!(engine.active_call_count(), 1);
    }
    assert_eq!((engine.running_calls(), engine.active_call_count()), (Vec::new(), 0));
}

#[tokio::test]
async fn one_call_of_a_batch_is_stopped_and_the_others_go_on() {
    let check = async |effect: Effect, doubt: bool| {
        let freed = Arc::new(tokio::sync::Notify::new());
        let waits = Arc::clone(&freed);
        let other = Arc::new(ScriptedTool::new("other").does(move |_, _| {
            let waits = Arc::clone(&waits);
            Box::pin(async move {
                waits.notified().await;
                Ok(toolcrib_core::ToolOutput::text("done"))
            })
        }));
        let engine = engine(Engine::builder(), &[&hanging("slow", effect), &other]).await;
        let calls = vec![Call::new("slow", json!({})), Call::new("other", json!({}))];
        let id = calls[0].id;
        let stopping = async {
            while engine.running_calls().len() < 2 {
                tokio::task::yield_now().await;
            }
            assert!(engine.cancel_call(id));
            freed.notify_one();
        };
        let (answers, ()) = tokio::join!(engine.invoke(Batch::new(Origin::Model, calls)), stopping);
        let outcomes: Vec<_> = answers.iter().map(|a| a.outcome().unwrap()).collect();
        let (kind, error_type, message) = failure(outcomes[0]);
        assert_eq!((kind, error_type), (OutcomeKind::Cancelled, ErrorType::Cancelled));
        assert_eq!(message.contains("Whether it took effect is unknown"), doubt, "{message}");
        assert_eq!(outcomes[1].kind, OutcomeKind::Succeeded);
    };
    check(Effect::Read, false).await;
    check(Effect::SideEffect, true).await;
}

/// Never answers.
struct Silent;

impl Approver for Silent {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_call_that_waits_for_a_person_is_not_at_work_and_can_be_stopped() {
    let settings = EngineSettings { preset: Preset::AskAll, ..EngineSettings::default() };
    let tool = Arc::new(ScriptedTool::new("work"));
    let builder = Engine::builder().settings(settings).approver(Arc::new(Silent));
    let engine = engine(builder, &[&tool]).await;
    let (id, batch) = one_call("work");
    let waiting = engine.invoke(batch);
    tokio::pin!(waiting);
    assert!(futures_util::poll!(waiting.as_mut()).is_pending());
    assert_eq!((engine.running_calls(), engine.active_call_count()), (Vec::new(), 1));
    assert_eq!(engine.cancel_all(|_| true), [], "only what is at work is meant");
    assert!(engine.cancel_call(id));
    let answers = waiting.await;
    let (kind, _, message) = failure(answers[0].outcome().unwrap());
    assert_eq!(kind, OutcomeKind::Cancelled);
    assert!(message.contains("while it waited for approval"), "{message}");
    assert_eq!((tool.runs(), engine.active_call_count()), (0, 0));
}

#[tokio::test]
async fn a_suspended_call_is_in_no_pipeline() {
    let settings = EngineSettings { preset: Preset::AskAll, ..EngineSettings::default() };
    let tool = Arc::new(ScriptedTool::new("work"));
    let later = toolcrib_testkit::ScriptedApprover::new([ApproverReply::Deferred]);
    let builder = Engine::builder().settings(settings).approver(Arc::new(later));
    let engine = engine(builder, &[&tool]).await;
    let (id, batch) = one_call("work");
    let answers = engine.invoke(batch).await;
    let Answer::Suspended(request) = &answers[0] else { panic!("{answers:?}") };
    assert_eq!(engine.active_call_count(), 0);
    assert!(!engine.cancel_call(id));
    let record = toolcrib_core::DecisionRecord {
        decision: Decision::approve(),
        decided_by: "ann".into(),
        decided_at: 0,
    };
    let answer = engine.decide(request.id, record).await.unwrap().unwrap();
    assert_eq!(answer.outcome().unwrap().kind, OutcomeKind::Succeeded);
    assert_eq!(engine.active_call_count(), 0);
}

#[tokio::test]
async fn those_that_are_meant_are_stopped_and_no_others() {
    let tools = [hanging("a", Effect::Read), hanging("b", Effect::Read)];
    let engine = engine(Engine::builder(), &tools.each_ref()).await;
    let calls: Vec<Call> =
        ["a", "b", "a"].into_iter().map(|name| Call::new(name, json!({}))).collect();
    let meant: Vec<CallId> = vec![calls[0].id, calls[2].id];
    let (rest, stopping) = (calls[1].id, async {
        while engine.running_calls().len() < 3 {
            tokio::task::yield_now().await;
        }
        let mut stopped = engine.cancel_all(|call| call.tool.as_str() == "a");
        stopped.sort();
        let mut expected = meant.clone();
        expected.sort();
        assert_eq!(stopped, expected);
        while engine.running_calls().len() > 1 {
            tokio::task::yield_now().await;
        }
        let left = engine.running_calls();
        assert_eq!(left[0].tool.as_str(), "b");
        engine.cancel_all(|_| true);
    });
    let (answers, ()) = tokio::join!(engine.invoke(Batch::new(Origin::Model, calls)), stopping);
    assert_eq!(answers.len(), 3);
    assert!(!engine.cancel_call(rest));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_begins_after_the_stop_does_not_run() {
    let tool = Arc::new(
        ScriptedTool::new("flaky")
            .fails(ToolError::new(ErrorType::NetworkError, "No answer."))
            .spec(|s| (s.effect, s.attempts) = (Effect::Read, 5)),
    );
    let engine = engine(Engine::builder(), &[&tool]).await;
    let (id, batch) = one_call("flaky");
    let calling = engine.invoke(batch);
    tokio::pin!(calling);
    assert!(futures_util::poll!(calling.as_mut()).is_pending());
    assert_eq!(tool.runs(), 1);
    // The second attempt has a separate token, and the stop cancels that one.
    tokio::time::advance(Duration::from_secs(3)).await;
    assert!(futures_util::poll!(calling.as_mut()).is_pending());
    assert_eq!(tool.runs(), 2);
    assert!(engine.cancel_call(id));
    calling.await;
    assert_eq!(tool.runs(), 2);
}
