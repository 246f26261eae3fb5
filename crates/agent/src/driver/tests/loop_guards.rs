//! Tests of every loop guard: the requests that are sent and the calls that run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use toolcrib_core::{ErrorType, OutcomeKind, ToolError};

use super::*;
use crate::context::{Price, Rates};
use crate::machine::{RunEnd, model_messages};

/// A tool whose results are always new.
fn counter(name: &str) -> Arc<ScriptedTool> {
    let count = AtomicUsize::new(0);
    Arc::new(ScriptedTool::new(name).does(move |_, _| {
        let text = format!("number {}", count.fetch_add(1, Ordering::SeqCst));
        Box::pin(std::future::ready(Ok(ToolOutput::text(text))))
    }))
}

/// The last request declares no tools and ends with this text; all others declare tools.
fn check_bailed_out(scene: &Scene, ran: &Ran, text: &str) {
    let asked = scene.model().asked();
    let (last, others) = asked.split_last().unwrap();
    assert!(last.tools.is_none(), "the last request declares nothing");
    assert!(others.iter().all(|request| request.tools.is_some()));
    let texts = scene.model().texts(asked.len() - 1);
    assert_eq!(texts.last().map(String::as_str), Some(text));
    assert_eq!(ran.machine.answer(), "the best I have");
}

#[tokio::test]
async fn after_fifteen_rounds_one_request_without_tools() {
    let look = echo("look");
    let turns = (0..15).map(|n| call("look", n)).chain([say("the best I have")]);
    let scene = Scene::new(turns, &[&look]).await;
    let ran = scene.run().await;
    assert_eq!((ran.end(), look.runs(), scene.model().asked().len()), ("round_limit", 15, 16));
    check_bailed_out(
        &scene,
        &ran,
        "You have reached the tool call limit. Please respond with the best answer you have so far based on the information gathered.",
    );
    let DriveOutcome::Ended(end) = ran.driven else { panic!("{:?}", ran.driven) };
    assert_eq!(end.exit_code(), 0);
}

#[tokio::test]
async fn an_agent_may_have_other_rounds() {
    for rounds in [1, 3] {
        let look = echo("look");
        let turns = (0..rounds).map(|n| call("look", n)).chain([say("the best I have")]);
        let mut scene = Scene::new(turns, &[&look]).await;
        scene.rounds = Some(u32::try_from(rounds).unwrap());
        let ran = scene.run().await;
        assert_eq!((ran.end(), look.runs()), ("round_limit", rounds));
        check_bailed_out(&scene, &ran, model_messages::ROUND_LIMIT);
    }
    let look = echo("look");
    let turns = (0..40).map(|n| call("look", n)).chain([say("done")]);
    let mut scene = Scene::new(turns, &[&look]).await;
    scene.rounds = None;
    assert_eq!((scene.run().await.end(), look.runs()), ("completed", 40));
}

#[tokio::test]
async fn calls_in_the_last_answer_are_refused() {
    let look = echo("look");
    let twice = call("look", 1).and_call("look", json!({}));
    let turns = [call("look", 0), twice, say("the best I have")];
    let mut scene = Scene::new(turns, &[&look]).await;
    scene.rounds = Some(1);
    let ran = scene.run().await;
    assert_eq!((ran.end(), look.runs()), ("round_limit", 1));
    for answer in ran.answers(1) {
        assert_eq!(answer["message"], model_messages::NO_MORE_TOOLS);
    }
}

/// A cycle of batches is refused at its third repetition, before it runs.
async fn check_cycle(period: usize, ran_calls: usize) {
    let look = counter("look");
    let turns = (0..ran_calls + 1).map(|round| call("look", round % period));
    let scene = Scene::new(turns.chain([say("the best I have")]), &[&look]).await;
    let ran = scene.run().await;
    assert_eq!((ran.end(), look.runs()), ("repeated", ran_calls), "period {period}");
    assert_eq!(ran.answers(ran_calls)[0]["error_type"], "repeated_call");
    check_bailed_out(&scene, &ran, model_messages::REPEATED);
}

#[tokio::test]
async fn the_third_turn_of_a_cycle_is_not_run() {
    check_cycle(1, 2).await;
    check_cycle(2, 5).await;
    check_cycle(3, 8).await;
    check_cycle(4, 11).await;
}

#[tokio::test]
async fn every_call_of_a_repeated_batch_is_refused() {
    let (look, list) = (counter("look"), counter("list"));
    let batch = || call("look", 1).and_call("list", json!({"n": 2}));
    let scene =
        Scene::new([batch(), batch(), batch(), say("the best I have")], &[&look, &list]).await;
    let ran = scene.run().await;
    assert_eq!((look.runs(), list.runs()), (2, 2));
    for answer in ran.answers(2) {
        assert_eq!(answer["error_type"], "repeated_call");
    }
    check_bailed_out(&scene, &ran, model_messages::REPEATED);
}

#[tokio::test]
async fn the_same_error_three_times_ends_it() {
    let broken = Arc::new(ScriptedTool::new("broken").fails(ToolError::execution("no such city")));
    let turns = (0..4).map(|n| call("broken", n)).chain([say("the best I have")]);
    let scene = Scene::new(turns, &[&broken]).await;
    let ran = scene.run().await;
    assert_eq!((ran.end(), broken.runs()), ("repeated", 3));
    check_bailed_out(&scene, &ran, model_messages::REPEATED);
}

#[tokio::test]
async fn a_polling_tool_may_repeat() {
    let poll = ScriptedTool::new("poll").spec(|spec| spec.polling = true);
    let poll = Arc::new(poll.returns(ToolOutput::text("not yet")));
    let turns = (0..10).map(|_| call("poll", 0)).chain([say("done")]);
    let scene = Scene::new(turns, &[&poll]).await;
    let ran = scene.run().await;
    assert_eq!((ran.end(), poll.runs()), ("completed", 10));
    assert_eq!(ran.said(UserKind::Guard), Vec::<&str>::new());
}

/// Found in review: seven different searches that found nothing ended a run as stalled.
#[tokio::test]
async fn different_searches_without_a_result_are_no_stall() {
    let search = Arc::new(ScriptedTool::new("search").returns(ToolOutput::text("nothing found")));
    let turns = (0..7).map(|n| call("search", n)).chain([say("there is nothing")]);
    let scene = Scene::new(turns, &[&search]).await;
    let ran = scene.run().await;
    assert_eq!((ran.end(), search.runs()), ("completed", 7));
    assert_eq!(ran.said(UserKind::Guard), Vec::<&str>::new());
}

#[tokio::test]
async fn rounds_that_bring_nothing_new_are_hinted_at_and_then_end_it() {
    let same = Arc::new(ScriptedTool::new("same").returns(ToolOutput::text("nothing found")));
    // New calls, then old ones out of order, which no cycle explains.
    let turns = [0, 1, 2, 0, 2, 1, 0].map(|n| call("same", n));
    let turns = turns.into_iter().chain([say("the best I have")]);
    let scene = Scene::new(turns, &[&same]).await;
    let ran = scene.run().await;
    assert_eq!((ran.end(), same.runs()), ("stalled", 7));
    assert_eq!(scene.model().texts(5).last().map(String::as_str), Some(model_messages::STALL_HINT));
    check_bailed_out(&scene, &ran, model_messages::STALLED);
    let told = ran.events.iter().filter(
        |event| matches!(event, Event::Message { kind: UserKind::Guard, text, .. } if text == model_messages::STALL_HINT),
    );
    assert_eq!(told.count(), 1, "people see the hint too");
}

#[tokio::test]
async fn a_budget_of_calls() {
    let look = echo("look");
    let turns = (0..3).map(|n| call("look", n)).chain([say("the best I have")]);
    let mut scene = Scene::new(turns, &[&look]).await;
    scene.limits.calls = Some(2);
    let ran = scene.run().await;
    assert_eq!((ran.end(), look.runs()), ("budget_exceeded", 2));
    assert_eq!(ran.answers(2)[0]["error_type"], "budget_exceeded");
    let said = ran.said(UserKind::Guard);
    assert!(said[0].contains("all 2 calls of this run are used"), "{said:?}");
    check_bailed_out(&scene, &ran, said[0]);
    let DriveOutcome::Ended(end) = &ran.driven else { panic!("{:?}", ran.driven) };
    assert_eq!(end.exit_code(), 7);
}

#[tokio::test]
async fn a_budget_of_tokens_as_the_provider_reports_them() {
    let look = echo("look");
    let turns = [call("look", 0).used(400, 50), call("look", 1).used(500, 100), say("done")];
    let mut scene = Scene::new(turns, &[&look]).await;
    scene.limits.tokens = Some(1_000);
    let ran = scene.run().await;
    assert_eq!((ran.end(), look.runs(), scene.model().asked().len()), ("budget_exceeded", 1, 3));
    assert_eq!(ran.answers(1)[0]["status"], "not_run", "the open call has its result");
    let Event::RunEnd { message: Some(message), usage, .. } = ran.events.last().unwrap() else {
        panic!("{:?}", ran.events.last())
    };
    assert!(message.contains("the 1000 tokens of this run are used"), "{message}");
    assert_eq!(usage.total(), Some(1_050));
    // A finished answer counts although the budget is used up.
    let mut scene = Scene::new([say("dear, but done").used(5_000, 5_000)], &[]).await;
    scene.limits.tokens = Some(1_000);
    assert_eq!(scene.run().await.end(), "completed");
}

#[tokio::test]
async fn tokens_of_a_summary_are_paid_for() {
    let look = echo("look");
    let turns = [
        say("what was said").used(900, 50).for_summary(),
        call("look", 0).used(50, 50),
        say("unheard"),
    ];
    let mut scene = Scene::new(turns, &[&look]).await;
    scene.windows = ContextWindows::builtin().unwrap().with_override("*", 1_000).unwrap();
    scene.history = compaction::exchanges(8, 400);
    scene.limits.tokens = Some(1_000);
    let ran = scene.run().await;
    assert_eq!((ran.end(), look.runs()), ("budget_exceeded", 0));
}

#[tokio::test]
async fn a_budget_of_time() {
    // A call with side effects is not retried.
    let slow = ScriptedTool::new("slow").hangs();
    let slow = Arc::new(slow.spec(|spec| spec.effect = Effect::SideEffect));
    let turns = [call("slow", 0), say("the best I have")];
    let mut scene = Scene::new(turns, &[&slow]).await;
    // Long enough for the first request on a busy machine.
    scene.limits.time = Some(Duration::from_millis(300));
    let ran = scene.run().await;
    assert_eq!(ran.end(), "budget_exceeded");
    // The call is cut at the end of the budget, and the last answer is requested without tools and
    // without a time limit.
    assert_eq!((slow.runs(), &ran.answers(0)[0]["error_type"]), (1, &json!("timeout")));
    check_bailed_out(&scene, &ran, ran.said(UserKind::Guard)[0]);
}

#[tokio::test]
async fn a_model_that_takes_longer_than_the_budget_is_cut_there() {
    let mut scene = Scene::new([say("too late").delay_ms(60_000)], &[]).await;
    scene.limits.time = Some(Duration::from_millis(20));
    let ran = scene.run().await;
    assert_eq!((ran.end(), scene.model().asked().len()), ("budget_exceeded", 1));
}

#[tokio::test]
async fn a_budget_of_money() {
    let look = echo("look");
    let turns =
        [call("look", 0).used(600, 300), call("look", 1).used(100, 1), say("the best I have")];
    let mut scene = Scene::new(turns, &[&look]).await;
    // A millionth of a dollar per token.
    let rates = Rates { input: 1_000_000, output: 1_000_000, cache_read: None, cache_write: None };
    scene.prices = Prices::builtin().unwrap().with_override("*", Price::flat(rates)).unwrap();
    scene.cost = Some(Money(1_000));
    let ran = scene.run().await;
    assert_eq!((ran.end(), look.runs()), ("budget_exceeded", 1));
    let DriveOutcome::Ended(RunEnd::Budget { message }) = &ran.driven else {
        panic!("{:?}", ran.driven)
    };
    assert!(message.contains("$0.0010") && message.contains("estimate"), "{message}");
    assert_eq!(ran.machine.state().spent.cost, Some(Money(1_001)));
}

/// Regression: the turn that reached the budget with calls ended the run without an answer, and
/// its calls had no record.
#[tokio::test]
async fn a_budget_of_tokens_reached_by_calls_still_gets_an_answer() {
    let look = echo("look");
    let turns = [call("look", 0).used(10, 5), call("look", 1).used(200, 5), say("the best I have")];
    let mut scene = Scene::new(turns, &[&look]).await;
    scene.limits.tokens = Some(100);
    let ran = scene.run().await;
    assert_eq!((ran.end(), look.runs()), ("budget_exceeded", 1));
    check_bailed_out(&scene, &ran, ran.said(UserKind::Guard)[0]);
    let DriveOutcome::Ended(RunEnd::Budget { message }) = &ran.driven else {
        panic!("{:?}", ran.driven)
    };
    assert!(message.contains("100 tokens") && !message.contains("Answer with"), "{message}");
    assert_eq!(ran.answers(1)[0]["message"], model_messages::NO_MORE_TOOLS);
    let closed = ran.slots(1)[0].as_ref().unwrap().call;
    let stored = scene.engine.calls().call(closed).await.unwrap().expect("it has a record");
    let end = stored.row.end.unwrap();
    assert_eq!((end.outcome, end.attempts), (OutcomeKind::Denied, 0));
    assert_eq!(end.error_type, Some(ErrorType::BudgetExceeded));
}

/// Calls of the answer that was requested without tools are recorded too, and a run that a guard
/// ended has a text even if the model wrote none.
#[tokio::test]
async fn a_run_that_a_guard_stopped_ends_with_a_text() {
    let look = echo("look");
    let turns = [call("look", 0), call("look", 1), say("the best I have")];
    let mut scene = Scene::new(turns, &[&look]).await;
    scene.rounds = Some(1);
    let ran = scene.run().await;
    assert_eq!(
        (ran.end(), ran.machine.answer(), look.runs()),
        ("round_limit", "the best I have", 1)
    );
    let closed = ran.slots(1)[0].as_ref().unwrap().call;
    assert!(scene.engine.calls().call(closed).await.unwrap().is_some());

    let mut scene = Scene::new([call("look", 0), say(""), say("")], &[&look]).await;
    scene.rounds = Some(1);
    let ran = scene.run().await;
    assert_eq!(ran.end(), "round_limit");
    assert!(ran.machine.answer().contains("its rounds of tool calls were used up"));

    let mut scene = Scene::new([call("look", 0).used(200, 5), say("")], &[&look]).await;
    scene.limits.tokens = Some(100);
    let ran = scene.run().await;
    assert!(ran.machine.answer().contains("100 tokens"), "{}", ran.machine.answer());
}

#[tokio::test]
async fn an_answer_of_nothing_is_asked_again_twice() {
    let scene = Scene::new([say(""), say(" "), say("here")], &[]).await;
    let ran = scene.run().await;
    assert_eq!((ran.end(), ran.machine.answer()), ("completed", "here"));
    assert_eq!(ran.said(UserKind::Guard), [model_messages::EMPTY, model_messages::EMPTY]);
    let scene = Scene::new([say(""), say(""), say("")], &[]).await;
    assert_eq!(scene.run().await.end(), "failed");
}
