//! Tests of messages sent while the run works: inserted before the next request, never lost.

use super::*;

/// A tool during which a message arrives.
fn writes(control: &RunControl) -> Arc<ScriptedTool> {
    let control = control.clone();
    Arc::new(ScriptedTool::new("works").does(move |_, _| {
        control.queue_message(typed("use the other file"));
        Box::pin(std::future::ready(Ok(ToolOutput::text("done"))))
    }))
}

#[tokio::test]
async fn what_is_written_while_tools_run_is_in_the_very_next_request() {
    let mut scene = Scene::new([call("works", 1), say("all right")], &[]).await;
    let tool = writes(&scene.control);
    scene.engine.catalog().attach(&fixed_source("more", &[&tool])).await.unwrap();
    scene.looks = Arc::new(|_| {});
    let ran = scene.run().await;
    assert_eq!(scene.model().texts(1), ["go", "", "use the other file"]);
    assert_eq!(ran.said(UserKind::Queued), ["use the other file"]);
    assert_eq!(scene.model().asked().len(), 2);
}

/// Sends a message when this piece of an answer is shown.
fn at(scene: &mut Scene, piece: &'static str) {
    let control = scene.control.clone();
    scene.looks = Arc::new(move |event| {
        if matches!(event, Event::TextDelta { text } if text == piece) {
            control.queue_message(typed("and in French?"));
        }
    });
}

#[tokio::test]
async fn what_is_written_while_the_final_answer_comes_makes_the_run_go_on() {
    let mut scene = Scene::new([say("Hello there."), say("Bonjour.")], &[]).await;
    at(&mut scene, "there.");
    let ran = scene.run().await;
    assert_eq!((ran.end(), ran.machine.answer()), ("completed", "Bonjour."));
    assert_eq!(scene.model().texts(1), ["go", "Hello there.", "and in French?"]);
    assert!(scene.control.take_messages().is_empty());
}

#[tokio::test]
async fn what_is_written_while_calls_come_waits_for_their_results() {
    let look = echo("look");
    let turns = [say("Let me see.").and_call("look", json!({"n": 1})), say("Bonjour.")];
    let mut scene = Scene::new(turns, &[&look]).await;
    at(&mut scene, "see.");
    let ran = scene.run().await;
    assert_eq!(scene.model().texts(1), ["go", "Let me see.", "and in French?"]);
    assert_eq!((ran.end(), look.runs()), ("completed", 1));
}

#[tokio::test]
async fn what_is_written_during_the_last_request_is_kept_in_the_conversation() {
    let look = echo("look");
    let mut scene = Scene::new([call("look", 0), say("It is over.")], &[&look]).await;
    scene.rounds = Some(1);
    at(&mut scene, "over.");
    let ran = scene.run().await;
    assert_eq!(ran.end(), "round_limit");
    assert_eq!(ran.said(UserKind::Queued), ["and in French?"]);
}

#[tokio::test]
async fn what_is_written_before_a_budget_ends_the_run_is_kept_in_the_conversation() {
    let look = echo("look");
    let calls = say("Let me see.").and_call("look", json!({"n": 1})).used(900, 200);
    let turns = [calls, say("done")];
    let mut scene = Scene::new(turns, &[&look]).await;
    scene.limits.tokens = Some(1_000);
    at(&mut scene, "see.");
    let ran = scene.run().await;
    assert_eq!(
        (ran.end(), ran.said(UserKind::Queued)),
        ("budget_exceeded", vec!["and in French?"])
    );
}

#[tokio::test]
async fn what_is_written_too_late_is_given_back() {
    let scene = Scene::new([say("done")], &[]).await;
    assert_eq!(scene.run().await.end(), "completed");
    scene.control.queue_message(typed("one more thing"));
    assert_eq!(scene.control.take_messages(), [typed("one more thing")]);
}
