//! A run that pauses in one process and is resumed by another on the same database.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_agent::machine::{Question, QuestionAnswer};
use toolcrib_app::runner::WaitForDecision;
use toolcrib_core::{ApprovalRequest, Decision, DecisionRecord, OutcomeKind, RunStatus};

use super::*;

const RISKY: &str = "description = \"Sends a letter.\"\nrisk = \"high\"\n";

/// Answers every question with "b", and makes this decision.
#[derive(Clone)]
struct Decides(Decision);

fn approve() -> Decision {
    Decision::approve()
}

impl HumanInput for Decides {
    fn answer<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>> {
        Box::pin(std::future::ready(Some(QuestionAnswer::Answered { text: "b".to_owned() })))
    }

    fn decide<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        let decision = self.0.clone();
        let record = DecisionRecord { decision, decided_by: "ann".to_owned(), decided_at: 0 };
        Box::pin(std::future::ready(Some(record)))
    }
}

/// Returns a script with one batch: a read, a question, and the deletion of a file.
fn script() -> Arc<Watched> {
    let batch = ScriptTurn::call("read_file", json!({"path": "notes.md"}))
        .and_call("ask_user", json!({"question": "Which?", "options": ["a", "b"]}))
        .and_call("delete_file", json!({"path": "old.txt"}))
        .used(100, 10);
    Watched::new([batch, ScriptTurn::say("done").used(200, 10)])
}

/// Creates a home in which a run waits, and the process that started it.
async fn paused() -> (Home, Process, RunReport) {
    let home = Home::new();
    home.file("shop/notes.md", "milk").file("shop/old.txt", "a").file("shop/other.txt", "b");
    let process = home.open().await;
    let finished = process.run(&script()).await;
    assert_eq!(ended(&finished), "paused");
    (home, process, finished)
}

/// Resumes the run in a new process with this decision.
async fn check(decision: Decision, gone: &[&str], part: &str) {
    let (home, first, finished) = paused().await;
    let before = first.stored(finished.conversation).await.unwrap();
    drop(first);
    let second = home.open().await;
    let done = second.resume(finished.run, &script(), Decides(decision)).await.unwrap();
    assert_eq!((ended(&done), done.text.as_str()), ("completed", "done"));
    assert_eq!((done.run, done.conversation), (finished.run, finished.conversation));
    for file in ["old.txt", "other.txt"] {
        let is_there = home.at("shop").join(file).exists();
        assert_eq!(is_there, !gone.contains(&file), "{file} after {part}");
    }
    let after = second.stored(finished.conversation).await.unwrap();
    assert_eq!((before.len(), after.len()), (2, 4), "the question's answer and the model's");
    let answers = answers(&after);
    assert!(answers[0]["result"].to_string().contains("milk"));
    assert_eq!(answers[1]["result"]["user_choice"], "b");
    assert!(answers[2].to_string().contains(part), "{}", answers[2]);
    let run = second.runner.store().run(finished.run).await.unwrap().unwrap();
    assert_eq!((run.status, run.epoch), (RunStatus::Ended, 1));
    let used = &run.state["used"];
    // A call that did not run costs nothing.
    let calls = 2 + usize::from(!gone.is_empty());
    assert_eq!((&used["calls"], &used["tokens"]), (&json!(calls), &json!(320)), "of both");
    assert_eq!(second.toolcrib.approvals().pending().await.unwrap(), []);
    // The run has ended.
    let again = second.resume(finished.run, &script(), Decides(approve())).await.unwrap_err();
    assert!(matches!(&again, RunnerError::NotPaused(why) if why.contains("ended")), "{again}");
}

#[tokio::test]
async fn another_process_finishes_it_by_each_decision() {
    check(approve(), &["old.txt"], "success").await;
    check(Decision::Deny { note: Some("I need it".into()) }, &[], "I need it").await;
    check(Decision::Edit { args: json!({"path": "other.txt"}) }, &["other.txt"], "success").await;
    check(Decision::Skip, &[], "skipped by the user").await;
}

#[tokio::test]
async fn of_two_that_take_it_up_at_once_one_wins() {
    let (home, first, finished) = paused().await;
    let second = home.open().await;
    let (model, other) = (script(), script());
    // Both processes have seen that the run waits.
    let run = first.runner.store().run(finished.run).await.unwrap().unwrap();
    let take = async |process: &Process, model: &Arc<Watched>| {
        let surfaces = process.surfaces(Decides(approve()));
        process.runner.resume(run.clone(), process.start(model, ""), &surfaces).await
    };
    let (a, b) = tokio::join!(take(&first, &model), take(&second, &other));
    let lost = match (a, b) {
        (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => {
            assert_eq!(ended(&won), "completed");
            lost
        }
        both => panic!("{both:?}"),
    };
    assert!(matches!(lost, RunnerError::NotPaused(_)), "{lost}");
    assert_eq!(model.asked().len() + other.asked().len(), 1);
}

#[tokio::test]
async fn a_run_that_a_newer_version_stored_goes_on_waiting_for_it() {
    let (_home, process, finished) = paused().await;
    let store = process.runner.store();
    let mut run = store.run(finished.run).await.unwrap().unwrap();
    run.state["state"]["version"] = json!(99);
    store.put_run(run).await.unwrap();
    let error = process.resume(finished.run, &script(), Decides(approve())).await.unwrap_err();
    assert!(matches!(&error, RunnerError::Restore(_)), "{error}");
    let run = store.run(finished.run).await.unwrap().unwrap();
    assert_eq!(run.status, RunStatus::Paused);
}

#[tokio::test]
async fn an_approval_is_not_valid_for_a_tool_that_changed_since() {
    let home = Home::new();
    home.tool("letter", RISKY, "echo sent >sent");
    let script = || Watched::new([ScriptTurn::call("letter", json!({})), ScriptTurn::say("done")]);
    let finished = home.open().await.run(&script()).await;
    assert_eq!(ended(&finished), "paused");
    home.tool("letter", &RISKY.replace("a letter", "money"), "echo paid >sent");
    let process = home.open().await;
    let done = process.resume(finished.run, &script(), Decides(approve())).await.unwrap();
    assert_eq!(ended(&done), "completed");
    assert!(!home.at("tools/letter/sent").exists());
    let answer = answers(&process.stored(done.conversation).await.unwrap()).remove(0);
    assert!(answer["message"].as_str().unwrap().contains("has changed since"), "{answer}");
}

#[tokio::test]
async fn a_run_that_waits_is_over_when_its_conversation_goes_on() {
    let (home, mut first, finished) = paused().await;
    first.conversation = finished.conversation;
    let go_on = Watched::new([ScriptTurn::say("never mind")]);
    // The conversation treats the second model as a different one.
    let start = StartRequest {
        models: vec![Arc::new(Renamed(go_on))],
        ..first.start(&script(), "leave it")
    };
    let went_on = first.runner.start(start, &first.surfaces(NoHumanInput)).await.unwrap();
    assert_eq!((ended(&went_on), went_on.text.as_str()), ("completed", "never mind"));
    let second = home.open().await;
    let error = second.resume(finished.run, &script(), Decides(approve())).await.unwrap_err();
    assert!(
        matches!(&error, RunnerError::NotPaused(why) if why.contains("has continued")),
        "{error}"
    );
    assert!(home.at("shop/old.txt").exists());
    let run = second.runner.store().run(finished.run).await.unwrap().unwrap();
    assert_eq!(run.status, RunStatus::Ended, "nobody is told that it waits");
    let stored = second.stored(finished.conversation).await.unwrap();
    let kinds: Vec<_> = match &stored[1] {
        Message::Model(message) => message.answers().iter().flatten().map(|a| a.kind).collect(),
        Message::User(message) => panic!("{message:?}"),
    };
    let cancelled = Some(OutcomeKind::Cancelled);
    assert_eq!(kinds, [Some(OutcomeKind::Succeeded), cancelled, cancelled]);
}

/// The same model with another provider's name.
struct Renamed(Arc<Watched>);

impl Model for Renamed {
    fn info(&self) -> &ModelInfo {
        static INFO: std::sync::OnceLock<ModelInfo> = std::sync::OnceLock::new();
        INFO.get_or_init(|| ModelInfo { provider: "other".to_owned(), ..self.0.info.clone() })
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let mut request = request.clone();
        // A script finds its position by counting its own answers in the conversation.
        request.messages.retain(|message| matches!(&**message, Message::User(_)));
        Box::pin(async move { self.0.ask(&request, deltas, cancel).await })
    }
}

#[tokio::test]
async fn a_run_that_waits_right_here_goes_on_when_another_process_decides() {
    let home = Home::new();
    home.file("shop/old.txt", "a");
    let model = Watched::new([
        ScriptTurn::call("delete_file", json!({"path": "old.txt"})),
        ScriptTurn::say("done"),
    ]);
    let elsewhere = home.open().await;
    let waiting = home
        .open_asking(Arc::new(WaitForDecision::new(Arc::clone(elsewhere.toolcrib.approvals()))));
    let process = waiting.await;
    let decide = async {
        let approvals = elsewhere.toolcrib.approvals();
        let request = loop {
            if let Some(request) = approvals.pending().await.unwrap().pop() {
                break request;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let record =
            DecisionRecord { decision: approve(), decided_by: "bob".to_owned(), decided_at: 1 };
        approvals.decide(request.id, record).await.unwrap().unwrap();
    };
    let (finished, ()) = tokio::join!(process.run(&model), decide);
    assert_eq!(ended(&finished), "completed");
    assert!(!home.at("shop/old.txt").exists());
}
