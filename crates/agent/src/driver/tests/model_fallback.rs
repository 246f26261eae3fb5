//! Tests of the model chain: order of fallback, and the error when no model answers.

use toolcrib_providers::model::FailureKind;

use super::*;
use crate::machine::RunEnd;

fn fails(kind: FailureKind) -> ScriptTurn {
    ScriptTurn::fail(kind, format!("it says {kind:?}"))
}

async fn scene(models: Vec<Arc<TestModel>>, tools: &[&Arc<ScriptedTool>]) -> Scene {
    let mut scene = Scene::new([], tools).await;
    scene.models = models;
    scene
}

fn fallbacks(ran: &Ran) -> Vec<(&str, Option<&str>, &str)> {
    let found = ran.events.iter().filter_map(|event| match event {
        Event::Fallback { from, to, why } => Some((from.as_str(), to.as_deref(), why.as_str())),
        _ => None,
    });
    found.collect()
}

fn answered_by(ran: &Ran) -> Vec<(&str, bool)> {
    let found = ran.events.iter().filter_map(|event| match event {
        Event::Answer { model, fallback, .. } => Some((model.as_str(), *fallback)),
        _ => None,
    });
    found.collect()
}

fn failure(ran: &Ran) -> (FailureKind, &str) {
    match &ran.driven {
        DriveOutcome::Ended(RunEnd::Failed { kind, message }) => (*kind, message),
        other => panic!("{other:?}"),
    }
}

/// A permanent failure removes the model from the run; after a transient one it is asked again in
/// the next round.
async fn check_kind(kind: FailureKind, lasting: bool) {
    let look = echo("look");
    let first = TestModel::named("first", [fails(kind), say("back again")]);
    let second = TestModel::named("second", [call("look", 1), say("I stayed")]);
    let scene = scene(vec![Arc::clone(&first), Arc::clone(&second)], &[&look]).await;
    let ran = scene.run().await;
    assert_eq!((ran.end(), look.runs()), ("completed", 1), "{kind:?}");
    let last = if lasting { ("second", true) } else { ("first", false) };
    assert_eq!(answered_by(&ran), [("second", true), last], "{kind:?}");
    assert_eq!(first.asked().len(), 1 + usize::from(!lasting), "{kind:?}");
    let [(from, to, why)] = fallbacks(&ran)[..] else { panic!("{:?}", fallbacks(&ran)) };
    assert_eq!((from, to), ("first-provider/first", Some("second-provider/second")));
    assert!(why.contains(&format!("{kind:?}")), "{why}");
}

#[tokio::test]
async fn the_next_model_is_asked_whatever_the_failure() {
    use FailureKind::*;
    for kind in [
        RateLimited,
        Unavailable,
        Connection,
        Idle,
        CircuitOpen,
        ContextExceeded,
        Moderated,
        BadRequest,
        Unreadable,
        Script,
    ] {
        check_kind(kind, false).await;
    }
    for kind in [BadKey, UnknownModel, NoCredit] {
        check_kind(kind, true).await;
    }
}

#[tokio::test]
async fn a_stopped_request_asks_no_other_model() {
    let second = TestModel::named("second", [say("unheard")]);
    let models =
        vec![TestModel::named("first", [fails(FailureKind::Cancelled)]), Arc::clone(&second)];
    let ran = scene(models, &[]).await.run().await;
    assert_eq!((ran.end(), second.asked().len()), ("stopped", 0));
}

#[tokio::test]
async fn no_tool_runs_again_when_another_model_goes_on() {
    let look = echo("look");
    let first = TestModel::named("first", [call("look", 7), fails(FailureKind::Unavailable)]);
    let second = TestModel::named("second", [say("seven")]);
    let ran = scene(vec![first, Arc::clone(&second)], &[&look]).await.run().await;
    assert_eq!((ran.end(), look.runs()), ("completed", 1));
    let sent = second.asked()[0].messages.clone();
    let Message::Model(message) = &*sent[1] else { panic!("{sent:?}") };
    assert_eq!(message.answers()[0].as_ref().unwrap().wire["result"], "got {\"n\":7}");
}

#[tokio::test]
async fn when_all_fail_each_is_named_once() {
    let models = vec![
        TestModel::named("first", [fails(FailureKind::BadKey)]),
        TestModel::named("second", [fails(FailureKind::Unavailable)]),
    ];
    let ran = scene(models, &[]).await.run().await;
    let (kind, message) = failure(&ran);
    assert_eq!(kind, FailureKind::Unavailable);
    assert_eq!(
        message,
        "no model of the chain answered: first (first-provider): it says BadKey; second (second-provider): it says Unavailable"
    );
    assert_eq!(fallbacks(&ran).last().unwrap().1, None);
    // A single model: the message does not mention a chain.
    let ran = scene(vec![TestModel::named("only", [fails(FailureKind::BadKey)])], &[]).await;
    let ran = ran.run().await;
    assert_eq!(failure(&ran), (FailureKind::BadKey, "only (only-provider): it says BadKey"));
    assert_eq!(fallbacks(&ran), []);
}

#[tokio::test]
async fn what_had_arrived_is_kept_when_no_model_answers() {
    let turn = ScriptTurn { say: Some("half a sen".into()), ..fails(FailureKind::Connection) };
    let ran = scene(vec![TestModel::named("only", [turn])], &[]).await.run().await;
    assert_eq!((ran.end(), ran.machine.answer()), ("failed", "half a sen"));
}

fn windows(sizes: &[(&str, u64)]) -> ContextWindows {
    sizes.iter().fold(ContextWindows::builtin().unwrap(), |windows, (model, tokens)| {
        windows.with_override(model, *tokens).unwrap()
    })
}

#[tokio::test]
async fn a_model_whose_window_is_too_small_is_passed_over() {
    let small = TestModel::named("small", [say("unheard")]);
    let large = TestModel::named("large", [say("here")]);
    let first = TestModel::named("first", [fails(FailureKind::Unavailable)]);
    let mut scene = scene(vec![first, Arc::clone(&small), large], &[]).await;
    scene.windows = windows(&[("first", 100_000), ("small", 100), ("large", 100_000)]);
    scene.history = vec![Arc::new(Message::User(typed(&"long ".repeat(400))))];
    let ran = scene.run().await;
    assert_eq!(answered_by(&ran), [("large", true)]);
    assert_eq!(small.asked().len(), 0);
    let passed = fallbacks(&ran)[1];
    assert_eq!(passed.0, "small-provider/small");
    assert!(passed.2.contains("window of 100"), "{}", passed.2);
}

#[tokio::test]
async fn when_nothing_fits_each_model_its_window_and_the_size_are_named() {
    let models = vec![TestModel::named("one", []), TestModel::named("two", [])];
    let mut scene = scene(models, &[]).await;
    scene.windows = windows(&[("one", 100), ("two", 200)]);
    scene.history = Vec::new();
    let conversation = ConversationId::fresh();
    scene.store.put_conversation(untitled(conversation)).await.unwrap();
    let text = typed(&"long ".repeat(4_000));
    let machine = Machine::begin(RunId::fresh(), conversation, Vec::new(), text, Some(15));
    let ran = scene.drive(machine, &scene.job()).await;
    let (kind, message) = failure(&ran);
    assert_eq!(kind, FailureKind::ContextExceeded);
    for part in [
        "the conversation has about 5,1",
        "one (one-provider: window of 100)",
        "two (two-provider: window of 200)",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(scene.models.iter().all(|model| model.asked().is_empty()), "nothing was sent");
}

#[tokio::test]
async fn a_model_whose_window_is_smaller_than_estimated_is_asked_again_with_less() {
    let turns = [fails(FailureKind::ContextExceeded), say("that fits")];
    let only = TestModel::named("only", turns);
    let mut scene = scene(vec![Arc::clone(&only)], &[]).await;
    scene.history = compaction::exchanges(3, 4_000);
    let ran = scene.run().await;
    assert_eq!((ran.end(), ran.machine.answer()), ("completed", "that fits"));
    let sent: Vec<usize> = only.asked().iter().map(|request| request.messages.len()).collect();
    assert!(sent[1] < sent[0], "{sent:?}");
    assert!(ran.events.iter().any(|event| matches!(event, Event::Trimmed { .. })));
}

#[tokio::test]
async fn a_window_that_was_only_guessed_at_is_not_named() {
    let only = TestModel::named("only", [fails(FailureKind::ContextExceeded)]);
    let mut scene = scene(vec![Arc::clone(&only)], &[]).await;
    scene.windows = windows(&[("only", 1_000)]);
    let conversation = ConversationId::fresh();
    scene.store.put_conversation(untitled(conversation)).await.unwrap();
    let text = typed(&"long ".repeat(400));
    let machine = Machine::begin(RunId::fresh(), conversation, Vec::new(), text, Some(15));
    let ran = scene.drive(machine, &scene.job()).await;
    // Even half of the trimmed conversation does not fit: the provider's own message is shown.
    assert_eq!(failure(&ran).1, "only (only-provider): it says ContextExceeded");
    assert_eq!(only.asked().len(), 1);
}

#[tokio::test]
async fn a_model_on_this_device_neither_falls_back_nor_is_fallen_back_to() {
    let hosted = TestModel::named("hosted", [say("unheard")]);
    let local = TestModel::on_device("local", [fails(FailureKind::Unavailable)]);
    let ran = scene(vec![local, Arc::clone(&hosted)], &[]).await.run().await;
    assert_eq!((ran.end(), hosted.asked().len()), ("failed", 0));
    assert_eq!(fallbacks(&ran)[0].1, None, "nobody is announced");

    let local = TestModel::on_device("local", [say("unheard")]);
    let last = TestModel::named("last", [say("here")]);
    let first = TestModel::named("first", [fails(FailureKind::Unavailable)]);
    let ran = scene(vec![first, Arc::clone(&local), last], &[]).await.run().await;
    assert_eq!(answered_by(&ran), [("last", true)]);
    assert_eq!(local.asked().len(), 0);
    assert_eq!(fallbacks(&ran)[0].1, Some("last-provider/last"));
}

#[tokio::test]
async fn a_model_without_tools_gets_them_in_words_once() {
    let look = echo("look");
    let turns = [fails(FailureKind::NoTools), call("look", 1), say("done")];
    let plain = TestModel::named("plain", turns);
    let ran = scene(vec![Arc::clone(&plain)], &[&look]).await.run().await;
    assert_eq!((ran.end(), look.runs()), ("completed", 1));
    let kinds: Vec<bool> = plain
        .asked()
        .iter()
        .map(|request| request.tools.as_ref().unwrap().value.is_string())
        .collect();
    assert_eq!(kinds, [false, true, true]);
    let notices = ran
        .events
        .iter()
        .filter(|event| matches!(event, Event::Notice { text } if text.contains("takes no tools")));
    assert_eq!(notices.count(), 1);
    // A model that also rejects the text protocol is skipped for the rest of the run.
    let twice = [fails(FailureKind::NoTools), fails(FailureKind::NoTools)];
    let ran = scene(vec![TestModel::named("plain", twice)], &[&look]).await.run().await;
    assert_eq!(failure(&ran).0, FailureKind::NoTools);
}
