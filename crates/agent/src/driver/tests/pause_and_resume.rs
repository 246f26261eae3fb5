//! Tests of pausing for people and resuming in another process: a new engine over the same stores.

use toolcrib_core::{
    ApprovalRequest, ApprovalStore, Approver, ApproverReply, BoxFuture, Decision, DecisionRecord,
    RunStatus, RunStore as _,
};
use toolcrib_engine::store::MemoryApprovals;

use super::super::restore;
use super::*;
use crate::machine::{PendingKind, Question, QuestionAnswer};

/// Defers every approval.
pub(super) struct Later;

impl Approver for Later {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        Box::pin(std::future::ready(ApproverReply::Deferred))
    }
}

/// Gives this answer to every question.
pub(super) struct Answers(pub(super) &'static str);

impl HumanInput for Answers {
    fn answer<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>> {
        Box::pin(std::future::ready(Some(QuestionAnswer::Answered { text: self.0.to_owned() })))
    }
}

/// Answers and decides.
struct Decides(QuestionAnswer, Decision);

impl HumanInput for Decides {
    fn answer<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>> {
        Box::pin(std::future::ready(Some(self.0.clone())))
    }

    fn decide<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Option<DecisionRecord>> {
        let decision = self.1.clone();
        let record = DecisionRecord { decision, decided_by: "ann".to_owned(), decided_at: 0 };
        Box::pin(std::future::ready(Some(record)))
    }
}

/// One batch with a question, a risky call and an ordinary one, then an answer.
fn script() -> Vec<ScriptTurn> {
    let batch = call("look", 1)
        .and_call(
            "ask_user",
            json!({"question": "Which?", "context": "two fit", "options": ["a", "b"]}),
        )
        .and_call("delete", json!({"n": 2}));
    vec![batch.used(10, 5), say("done").used(20, 5)]
}

struct Halves {
    store: Arc<MemoryRuns>,
    approvals: Arc<dyn ApprovalStore>,
    first: Ran,
}

/// The first process: the run pauses.
async fn first(delete: &Arc<ScriptedTool>) -> Halves {
    let (store, approvals): (Arc<MemoryRuns>, Arc<dyn ApprovalStore>) =
        (Arc::default(), Arc::new(MemoryApprovals::default()));
    let engine = Engine::builder().approver(Arc::new(Later));
    let kept = Arc::clone(&approvals);
    let mut scene = Scene::keeping(kept, engine, script(), &[&echo("look"), delete]).await;
    scene.store = Arc::clone(&store);
    let first = scene.run().await;
    Halves { store, approvals, first }
}

impl Halves {
    /// The second process: it takes the run over.
    async fn second(&self, person: impl HumanInput + 'static, delete: &Arc<ScriptedTool>) -> Ran {
        let engine = Engine::builder().approver(Arc::new(Later));
        let kept = Arc::clone(&self.approvals);
        let mut scene = Scene::keeping(kept, engine, script(), &[&echo("look"), delete]).await;
        scene.store = Arc::clone(&self.store);
        scene.person = Arc::new(person);
        let left = scene.store.run(self.first.machine.state().run).await.unwrap().unwrap();
        let taken = scene.store.claim_run(left.id, left.epoch).await.unwrap();
        let messages = scene.store.messages(taken.conversation, 0).await.unwrap();
        let (machine, used, setup) = restore(&taken, messages).unwrap();
        assert_eq!(setup, json!({"kept": "as it is"}));
        assert_eq!(machine.history(), self.first.machine.history());
        let job = RunJob { used, epoch: taken.epoch, resumed: true, ..scene.job() };
        scene.drive(machine, &job).await
    }
}

#[tokio::test]
async fn the_batch_has_its_results_and_the_rest_waits() {
    let delete = Arc::new(risky("delete"));
    let halves = first(&delete).await;
    let ran = &halves.first;
    assert_eq!((ran.end(), delete.runs()), ("paused", 0));
    let slots = ran.slots(0);
    assert!(slots[0].is_some() && slots[1].is_none() && slots[2].is_none());
    let Event::RunPaused { status, waiting, .. } = ran.events.last().unwrap() else {
        panic!("{:?}", ran.events.last())
    };
    assert_eq!((*status, waiting.len()), ("clarification_needed", 2));
    let run = halves.store.run(ran.machine.state().run).await.unwrap().unwrap();
    assert_eq!(run.status, RunStatus::Paused);
    assert_eq!(run.state["used"]["calls"], 2, "a call that waits is not paid for yet");
}

/// Checks the result that the model receives for a decision about the risky call.
async fn check_decision(decision: Decision, runs: usize, part: &str) {
    let delete = Arc::new(risky("delete"));
    let halves = first(&delete).await;
    let said = QuestionAnswer::Answered { text: "b".to_owned() };
    let ran = halves.second(Decides(said, decision), &delete).await;
    assert_eq!((ran.end(), delete.runs()), ("completed", runs), "{part}");
    let answers = ran.answers(0);
    assert!(answers[2].to_string().contains(part), "{}", answers[2]);
    assert_eq!(answers[1]["result"]["selected_option"], 2);
    assert_eq!(ran.said(UserKind::Answer), ["[Answer to: Which?] b"]);
    let state = ran.machine.state();
    assert_eq!((state.run, state.calls, state.rounds), (halves.first.machine.state().run, 3, 1));
    assert_eq!(state.spent.usage.total(), Some(40), "what both processes used");
}

#[tokio::test]
async fn approved_denied_edited_or_skipped_in_another_process() {
    check_decision(Decision::approve(), 1, "did {\\\"n\\\":2}").await;
    check_decision(Decision::Deny { note: Some("keep it".into()) }, 0, "keep it").await;
    check_decision(Decision::Edit { args: json!({"n": 3}) }, 1, "did {\\\"n\\\":3}").await;
    check_decision(Decision::Skip, 0, "skipped by the user").await;
}

#[tokio::test]
async fn a_question_that_is_skipped_or_expires_has_a_status() {
    for (said, status) in
        [(QuestionAnswer::Skipped, "skipped"), (QuestionAnswer::Expired, "expired")]
    {
        let delete = Arc::new(risky("delete"));
        let halves = first(&delete).await;
        let ran = halves.second(Decides(said, Decision::Skip), &delete).await;
        assert_eq!(ran.answers(0)[1]["result"]["status"], status);
        assert_eq!(ran.said(UserKind::Answer), Vec::<&str>::new());
    }
}

#[tokio::test]
async fn an_answer_alone_leaves_the_approval_waiting() {
    let delete = Arc::new(risky("delete"));
    let halves = first(&delete).await;
    let ran = halves.second(Answers("a"), &delete).await;
    let DriveOutcome::Paused(pending) = &ran.driven else { panic!("{:?}", ran.driven) };
    assert!(matches!(&pending[..], [wait] if matches!(wait.what, PendingKind::Approval(_))));
    let Event::RunPaused { status, .. } = ran.events.last().unwrap() else { panic!("paused") };
    assert_eq!(*status, "approval_needed");
    // A third process finishes it.
    let third = halves.second_of(ran, &delete).await;
    assert_eq!((third.end(), delete.runs()), ("completed", 1));
}

impl Halves {
    async fn second_of(self, before: Ran, delete: &Arc<ScriptedTool>) -> Ran {
        let approve = Decision::approve();
        let halves = Self { first: before, ..self };
        halves.second(Decides(QuestionAnswer::Skipped, approve), delete).await
    }
}

#[tokio::test]
async fn an_approval_of_a_tool_that_changed_since_is_not_valid() {
    let delete = Arc::new(risky("delete"));
    let halves = first(&delete).await;
    let changed =
        Arc::new(risky("delete").spec(|spec| spec.description = "Does something else.".into()));
    let approve = Decision::approve();
    let ran = halves.second(Decides(QuestionAnswer::Skipped, approve), &changed).await;
    assert_eq!((ran.end(), changed.runs(), delete.runs()), ("completed", 0, 0));
    let answer = ran.answers(0)[2].clone();
    assert_eq!(answer["error_type"], "approval_denied");
    assert!(answer["message"].as_str().unwrap().contains("has changed since it was approved"));
}

#[tokio::test]
async fn a_run_keeps_the_time_at_which_it_began() {
    let delete = Arc::new(risky("delete"));
    let halves = first(&delete).await;
    let id = halves.first.machine.state().run;
    let before = halves.store.run(id).await.unwrap().unwrap();
    let ran = halves.second(Decides(QuestionAnswer::Skipped, Decision::Skip), &delete).await;
    assert_eq!(ran.end(), "completed");
    let after = halves.store.run(id).await.unwrap().unwrap();
    assert_eq!((after.created_at, after.epoch), (before.created_at, before.epoch + 1));
    assert_eq!(after.status, RunStatus::Ended);
}

#[tokio::test]
async fn a_run_whose_conversation_went_on_without_it_is_not_taken_up() {
    let delete = Arc::new(risky("delete"));
    let halves = first(&delete).await;
    let run = halves.first.machine.state().run;
    let conversation = halves.first.machine.state().conversation;
    // Another run asks the same in the same conversation, and pauses too.
    let engine = Engine::builder().approver(Arc::new(Later));
    let kept = Arc::clone(&halves.approvals);
    let mut scene = Scene::keeping(kept, engine, [], &[&echo("look"), &delete]).await;
    scene.models = vec![TestModel::named("other", script())];
    scene.store = Arc::clone(&halves.store);
    let history = halves.first.machine.history().to_vec();
    let machine = Machine::begin(RunId::fresh(), conversation, history, typed("go"), Some(15));
    assert_eq!(scene.drive(machine, &scene.job()).await.end(), "paused");
    let stored = halves.store.run(run).await.unwrap().unwrap();
    let messages = halves.store.messages(conversation, 0).await.unwrap();
    let error = restore(&stored, messages).unwrap_err().to_string();
    assert!(error.contains("has continued without the run"), "{error}");
}
