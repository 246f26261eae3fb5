//! Conversations that span several runs and processes.

use super::*;

fn says(text: &str) -> Arc<Watched> {
    Watched::new([ScriptTurn::say(text), ScriptTurn::say("and more")])
}

fn texts(request: &ModelRequest) -> Vec<String> {
    let text = |message: &Arc<Message>| match &**message {
        Message::User(message) => message.text.clone(),
        Message::Model(message) => message.turn.text.clone(),
    };
    request.messages.iter().map(text).collect()
}

#[tokio::test]
async fn another_process_goes_on_with_a_conversation() {
    let home = Home::new();
    let mut first = home.open().await;
    assert_eq!(ended(&first.run(&says("hello")).await), "completed");
    let conversation = first.conversation;
    let mut second = home.open().await;
    second.conversation = conversation;
    let model = says("hello");
    let start = second.start(&model, "again");
    let finished = second.runner.start(start, &second.surfaces(NoHumanInput)).await.unwrap();
    assert_eq!(finished.text, "and more");
    assert_eq!(texts(&model.asked()[0]), ["go", "hello", "again"]);
    first.conversation = conversation;
    assert_eq!(first.stored(conversation).await.unwrap().len(), 4);
    let head = first.runner.store().conversation(conversation).await.unwrap().unwrap();
    assert_eq!((head.owner.as_str(), head.title.as_str()), ("ann", "go"));
}

#[tokio::test]
async fn a_person_cannot_write_into_the_conversation_of_another() {
    let home = Home::new();
    let process = home.open().await;
    assert_eq!(ended(&process.run(&says("hello")).await), "completed");
    let model = says("unheard");
    let mut start = process.start(&model, "let me in");
    start.context.owner = "bob".to_owned();
    let error = process.runner.start(start, &process.surfaces(NoHumanInput)).await.unwrap_err();
    assert!(matches!(error, RunnerError::Store(StoreError::Conflict(_))), "{error}");
    assert_eq!(model.asked().len(), 0);
}

#[tokio::test]
async fn a_run_that_cannot_begin_leaves_no_conversation_behind() {
    let home = Home::new();
    let process = home.open().await;
    let mut start = process.start(&says("unheard"), "go");
    start.skill = Some("no-such-skill".to_owned());
    let error = process.runner.start(start, &process.surfaces(NoHumanInput)).await.unwrap_err();
    assert!(matches!(&error, RunnerError::Agent(why) if why.contains("no-such-skill")), "{error}");
    let store = process.runner.store();
    assert_eq!(store.conversations("ann", 10).await.unwrap(), []);
}
