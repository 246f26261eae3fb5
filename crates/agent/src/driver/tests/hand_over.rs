//! Tests of handing a run over, at its next step or at once: nothing is lost, and another process
//! continues.

use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use toolcrib_core::{RunStatus, RunStore as _};

use super::super::DriveError;
use super::*;

/// A run that is handed over at this moment, and its stored form.
async fn left(
    scene: &Scene,
    when: &Notify,
    leave: impl Fn(&RunControl),
) -> (ConversationId, RunId) {
    let (conversation, run) = (ConversationId::fresh(), RunId::fresh());
    scene.store.put_conversation(untitled(conversation)).await.unwrap();
    let mut machine = Machine::begin(run, conversation, Vec::new(), typed("go"), scene.rounds);
    let (driver, job) = (scene.driver(), scene.job());
    let leaving = async {
        when.notified().await;
        leave(&scene.control);
    };
    let (driven, ()) = tokio::join!(driver.drive(&mut machine, &job, &scene.control), leaving);
    assert!(matches!(driven, Err(DriveError::HandedOver)), "{driven:?}");
    let stored = scene.store.run(run).await.unwrap().unwrap();
    assert_eq!(stored.status, RunStatus::Running);
    let messages = scene.store.messages(conversation, 0).await.unwrap();
    assert_eq!(messages.len(), machine.history().len());
    let events = std::mem::take(&mut *scene.events.lock().unwrap());
    let over = |event: &Event| matches!(event, Event::RunEnd { .. } | Event::RunPaused { .. });
    assert!(!events.iter().any(over), "it has not ended: {events:?}");
    (conversation, run)
}

/// Takes the run over, as another process.
async fn taken_up(scene: &mut Scene, (conversation, run): (ConversationId, RunId)) -> Ran {
    scene.control = RunControl::new();
    let taken = scene.store.claim_run(run, 0).await.unwrap();
    let messages = scene.store.messages(conversation, 0).await.unwrap();
    let (mut machine, used, _) = super::super::restore(&taken, messages).unwrap();
    let job = RunJob { used, epoch: taken.epoch, resumed: true, ..scene.job() };
    // Not checked against the grammar: the previous process emitted the pieces of the arguments.
    let driven = scene.driver().drive(&mut machine, &job, &scene.control).await.unwrap();
    let events = std::mem::take(&mut *scene.events.lock().unwrap());
    Ran { machine, driven, events }
}

/// A tool that signals its start and waits for a permit.
fn gate() -> (Arc<ScriptedTool>, Arc<Notify>, Arc<Semaphore>) {
    let (begun, open) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let (says, waits) = (Arc::clone(&begun), Arc::clone(&open));
    let tool = ScriptedTool::new("gate").does(move |_, _| {
        let (says, waits) = (Arc::clone(&says), Arc::clone(&waits));
        Box::pin(async move {
            says.notify_one();
            waits.acquire().await.unwrap().forget();
            Ok(ToolOutput::text("let through"))
        })
    });
    (Arc::new(tool), begun, open)
}

#[tokio::test]
async fn a_call_at_work_is_waited_for() {
    let (tool, begun, open) = gate();
    let mut scene = Scene::new([call("gate", 1), say("done")], &[&tool]).await;
    let place = left(&scene, &begun, |control| {
        control.hand_over();
        open.add_permits(1);
    })
    .await;
    assert_eq!((tool.runs(), scene.model().asked().len()), (1, 1));
    let ran = taken_up(&mut scene, place).await;
    assert_eq!((ran.end(), ran.machine.answer()), ("completed", "done"));
    assert_eq!((tool.runs(), ran.answers(0)[0]["result"].clone()), (1, json!("let through")));
}

#[tokio::test]
async fn a_request_that_is_let_go_of_is_sent_again() {
    let turns = [say("too late").delay_ms(60_000), say("in time")];
    let mut scene = Scene::new(turns, &[]).await;
    let begun = &scene.model().begun;
    let place = left(&scene, begun, RunControl::hand_over_now).await;
    let ran = taken_up(&mut scene, place).await;
    assert_eq!((ran.end(), ran.machine.answer()), ("completed", "in time"));
}

#[tokio::test]
async fn a_call_that_is_let_go_of_ends_by_the_crash_rule() {
    let (tool, begun, _open) = gate();
    let mut scene = Scene::new([call("gate", 1), say("done")], &[&tool]).await;
    let place = left(&scene, &begun, RunControl::hand_over_now).await;
    let ran = taken_up(&mut scene, place).await;
    assert_eq!((ran.end(), tool.runs()), ("completed", 1));
    assert_eq!(ran.answers(0)[0]["status"], "error");
}

/// A queued message for a run that is handed over is delivered when it continues.
#[tokio::test]
async fn what_was_said_meanwhile_is_kept() {
    let (tool, begun, open) = gate();
    let mut scene = Scene::new([call("gate", 1), say("done")], &[&tool]).await;
    let place = left(&scene, &begun, |control| {
        control.queue_message(typed("and milk"));
        control.hand_over();
        open.add_permits(1);
    })
    .await;
    let ran = taken_up(&mut scene, place).await;
    assert_eq!(ran.said(UserKind::Queued), ["and milk"]);
}

/// A finished run is not handed over.
#[tokio::test]
async fn a_run_that_has_ended_has_ended() {
    let scene = Scene::new([say("done")], &[]).await;
    let control = scene.control.clone();
    let scene = Scene {
        looks: Arc::new(move |event| {
            if let Event::Answer { .. } = event {
                control.hand_over();
            }
        }),
        ..scene
    };
    let ran = tokio::time::timeout(Duration::from_secs(10), scene.run()).await.unwrap();
    assert_eq!(ran.end(), "completed");
}
