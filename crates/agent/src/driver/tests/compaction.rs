//! Tests of compaction: a separate summary request, the newest exchanges verbatim, the originals
//! stored.

use toolcrib_core::{CallId, ConversationStore as _};
use toolcrib_providers::conversation::ModelMessage;
use toolcrib_providers::model::FailureKind;
use toolcrib_providers::scripted::is_summary_request;
use toolcrib_providers::{Format, parse};

use super::*;

/// Exchanges of about this many characters each: a question, a call with its result, an answer.
pub(super) fn exchanges(count: usize, chars: usize) -> Vec<Arc<Message>> {
    let mut history = Vec::new();
    for n in 0..count {
        history.push(Arc::new(Message::User(typed(&format!("question {n}")))));
        let call = json!({"id": format!("c{n}"), "type": "function", "function": {"name": "look", "arguments": "{}"}});
        let mut message =
            answer(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        let result = CallAnswer {
            wire: json!({"status": "success", "result": "x".repeat(chars)}),
            is_error: false,
            elapsed_ms: None,
            ..CallAnswer::not_run(CallId::fresh(), "")
        };
        assert!(message.answer(0, result));
        history.push(Arc::new(Message::Model(Box::new(message))));
        let text = json!({"role": "assistant", "content": format!("answer {n}")});
        history.push(Arc::new(Message::Model(Box::new(answer(text)))));
    }
    history
}

fn answer(message: Value) -> ModelMessage {
    let body = json!({"choices": [{"finish_reason": "stop", "message": message}]});
    let turn = parse(Format::OpenAiChat, body.to_string().as_bytes()).unwrap();
    ModelMessage::new(turn, "other", "model")
}

async fn scene(turns: Vec<ScriptTurn>, window: u64, history: Vec<Arc<Message>>) -> Scene {
    let mut scene = Scene::new(turns, &[]).await;
    scene.windows = ContextWindows::builtin().unwrap().with_override("*", window).unwrap();
    scene.history = history;
    scene
}

fn summaries(scene: &Scene) -> Vec<bool> {
    scene.model().asked().iter().map(is_summary_request).collect()
}

fn covered(ran: &Ran) -> Vec<usize> {
    let found = ran.events.iter().filter_map(|event| match event {
        Event::Compaction { covers } => Some(*covers),
        _ => None,
    });
    found.collect()
}

#[tokio::test]
async fn at_seventy_percent_older_messages_become_a_summary() {
    let history = exchanges(8, 400);
    let turns = vec![say("They counted to four.").for_summary(), say("done")];
    let scene = scene(turns, 1_500, history.clone()).await;
    let ran = scene.run().await;
    assert_eq!((ran.end(), summaries(&scene)), ("completed", vec![true, false]));
    // Eight exchanges and the new message: the newest four stay.
    assert_eq!(covered(&ran), [15]);
    let texts = scene.model().texts(1);
    assert_eq!(texts[0], "[Conversation summary: They counted to four.]");
    assert_eq!(texts[1..4], ["question 5", "", "answer 5"]);
    let sent = scene.model().asked()[1].messages.clone();
    assert!(sent[1..10].iter().zip(&history[15..]).all(|(sent, kept)| Arc::ptr_eq(sent, kept)));
    let asked = scene.model().texts(0);
    assert!(asked[0].contains("question 0") && asked[0].contains("question 4"));
    assert!(!asked[0].contains("question 5"), "what stays is not summarised");
    // The stored history is complete.
    assert_eq!(ran.machine.history().len(), history.len() + 2);
    let stored = scene.store.messages(ran.machine.state().conversation, 0).await.unwrap();
    assert_eq!(stored.len(), history.len() + 2);
    assert!(stored[0].body.to_string().contains("question 0"));
}

#[tokio::test]
async fn below_that_nothing_is_summarised() {
    let scene = scene(vec![say("done")], 4_000, exchanges(8, 400)).await;
    let ran = scene.run().await;
    assert_eq!((ran.end(), summaries(&scene), covered(&ran)), ("completed", vec![false], vec![]));
}

#[tokio::test]
async fn the_next_summary_takes_in_the_one_before() {
    let first = scene(
        vec![say("They counted to four.").for_summary(), say("done")],
        1_500,
        exchanges(8, 400),
    );
    let before = first.await.run().await;
    let mut history = before.machine.history().to_vec();
    history.extend_from_slice(&exchanges(12, 400)[24..]);
    let turns = vec![say("They counted to eight.").for_summary(), say("done")];
    let scene = scene(turns, 1_500, Vec::new()).await;
    let conversation = ConversationId::fresh();
    scene.store.put_conversation(untitled(conversation)).await.unwrap();
    let mut machine = Machine::begin(RunId::fresh(), conversation, history, typed("go"), Some(15));
    machine.set_summary(before.machine.state().summary.clone());
    let ran = scene.drive(machine, &scene.job()).await;
    let asked = scene.model().texts(0);
    assert!(asked[0].contains("They counted to four."), "cumulative");
    assert!(!asked[0].contains("question 0"), "what is covered is not sent again");
    let summary = ran.machine.state().summary.clone().unwrap();
    assert_eq!(summary.text, "They counted to eight.");
    assert!(summary.covers > 15);
}

#[tokio::test]
async fn a_summary_that_fails_is_asked_for_once_more() {
    let fails = || ScriptTurn::fail(FailureKind::Unavailable, "down").for_summary();
    let turns = vec![fails(), say("At last.").for_summary(), say("done")];
    let second = scene(turns, 1_500, exchanges(8, 400)).await;
    let ran = second.run().await;
    assert_eq!((summaries(&second), covered(&ran)), (vec![true, true, false], vec![15]));

    // Everything is sent while it fits.
    let turns = vec![fails(), fails(), say("done")];
    let fits = scene(turns.clone(), 100_000, exchanges(8, 40_000)).await;
    let ran = fits.run().await;
    assert_eq!(ran.end(), "completed");
    assert_eq!((summaries(&fits), covered(&ran)), (vec![true, true, false], vec![]));
    assert_eq!(fits.model().texts(2).len(), 25);
    assert_eq!(ran.machine.state().summary, None);

    // Otherwise whole exchanges are left out, oldest first.
    let small = scene(turns, 1_500, exchanges(16, 400)).await;
    let ran = small.run().await;
    assert_eq!(ran.end(), "completed");
    let texts = small.model().texts(2);
    assert!(texts[0].contains("older messages were left out without a summary"), "{texts:?}");
    assert!(texts[1].starts_with("question"), "a whole exchange begins: {texts:?}");
    assert_eq!(ran.machine.history().len(), 16 * 3 + 2, "the originals stay");
    let told = ran.events.iter().any(
        |event| matches!(event, Event::Notice { text } if text.contains("could not be summarised")),
    );
    assert!(told);
}
