//! Tests of stopping at any moment: at once, with the text so far kept and every call answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, Approver, ApproverReply, Batch, BatchSubscriber,
    BoxFuture, Decision, DecisionRecord, Invoker, Label, LabelSource, Labels, RunSpec, ToolError,
};
use toolcrib_providers::scripted::ScriptTurn;

use super::*;
use crate::machine::{Question, QuestionAnswer};

/// Runs until `when`, then stops; the run ends at once.
async fn stopped(scene: &Scene, when: &Notify) -> Ran {
    let begun = Instant::now();
    let stop = async {
        when.notified().await;
        scene.control.stop();
    };
    let (ran, ()) = tokio::join!(scene.run(), stop);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(ran.end(), "stopped");
    ran
}

#[tokio::test]
async fn before_the_model_answers() {
    let scene = Scene::new([say("too late").delay_ms(60_000)], &[]).await;
    let ran = stopped(&scene, &scene.model().begun).await;
    assert_eq!((ran.machine.answer(), ran.machine.history().len()), ("", 1));
}

#[tokio::test]
async fn before_it_begins() {
    let scene = Scene::new([say("unheard")], &[]).await;
    scene.control.stop();
    assert_eq!((scene.run().await.end(), scene.model().asked().len()), ("stopped", 0));
}

#[tokio::test]
async fn in_the_middle_of_an_answer() {
    let turn = say("one two three").and_call("look", json!({"n": 1}));
    let look = echo("look");
    let mut scene = Scene::new([turn], &[&look]).await;
    let control = scene.control.clone();
    scene.looks = Arc::new(move |event| {
        if matches!(event, Event::TextDelta { text } if text.starts_with("two")) {
            control.stop();
        }
    });
    let ran = scene.run().await;
    assert_eq!((ran.end(), ran.machine.answer()), ("stopped", "one two "));
    assert_eq!((look.runs(), ran.slots(0).len()), (0, 0), "no call of half an answer exists");
}

/// Set when the future that contains it is dropped.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn while_tools_run() {
    let (gone, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    let hangs = {
        let (gone, begun) = (Arc::clone(&gone), Arc::clone(&begun));
        Arc::new(ScriptedTool::new("hangs").does(move |_, _| {
            let (gone, begun) = (Gone(Arc::clone(&gone)), Arc::clone(&begun));
            Box::pin(async move {
                begun.notify_one();
                std::future::pending::<()>().await;
                drop(gone);
                Ok(ToolOutput::text("never"))
            })
        }))
    };
    let look = echo("look");
    let turn = call("look", 1).and_call("hangs", json!({})).and_call("look", json!({"n": 2}));
    let scene = Scene::new([turn, say("unheard")], &[&hangs, &look]).await;
    let ran = stopped(&scene, &begun).await;
    assert!(gone.load(Ordering::SeqCst), "the tool's future is dropped");
    let answers = ran.answers(0);
    assert_eq!(answers[1]["error_type"], "cancelled");
    assert_eq!(scene.model().asked().len(), 1);
    // The conversation can continue.
    let mut after = Scene::new([], &[]).await;
    after.models = vec![TestModel::named("other", [say("fine")])];
    after.history = ran.machine.history().to_vec();
    assert_eq!(after.run().await.end(), "completed");
}

/// A person who never answers.
struct Thinks(Notify);

impl HumanInput for Thinks {
    fn answer<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>> {
        self.0.notify_one();
        Box::pin(std::future::pending())
    }
}

struct ThinksToo(Arc<Notify>);

impl Approver for ThinksToo {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        self.0.notify_one();
        Box::pin(std::future::pending())
    }
}

fn question() -> ScriptTurn {
    ScriptTurn::call("ask_user", json!({"question": "Which one?", "options": ["a", "b"]}))
}

#[tokio::test]
async fn while_a_question_waits() {
    let person = Arc::new(Thinks(Notify::new()));
    let look = echo("look");
    let turn = question().and_call("look", json!({"n": 1}));
    let mut scene = Scene::new([turn], &[&look]).await;
    scene.person = Arc::clone(&person) as Arc<dyn HumanInput>;
    let ran = stopped(&scene, &person.0).await;
    let answers = ran.answers(0);
    assert_eq!(
        (&answers[0]["error_type"], &answers[1]["status"]),
        (&json!("cancelled"), &json!("success"))
    );
    let asked: Vec<_> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Question { call, .. } => Some(*call),
            _ => None,
        })
        .collect();
    assert_eq!(asked, [ran.slots(0)[0].as_ref().unwrap().call], "the answer is that of the call");
}

#[tokio::test]
async fn while_an_approval_waits() {
    let begun = Arc::new(Notify::new());
    let delete = Arc::new(risky("delete"));
    let scene = Scene::asking(ThinksToo(Arc::clone(&begun)), [call("delete", 1)], &[&delete]).await;
    let ran = stopped(&scene, &begun).await;
    assert_eq!((delete.runs(), &ran.answers(0)[0]["error_type"]), (0, &json!("cancelled")));
    assert_eq!(scene.engine.approvals().pending().await.unwrap(), []);
}

struct Later;

impl Approver for Later {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        Box::pin(std::future::ready(ApproverReply::Deferred))
    }
}

#[tokio::test]
async fn a_stopped_run_leaves_no_open_question() {
    let person = Arc::new(Thinks(Notify::new()));
    let delete = Arc::new(risky("delete"));
    let turn = question().and_call("delete", json!({"n": 1}));
    let mut scene = Scene::asking(Later, [turn], &[&delete]).await;
    scene.person = Arc::clone(&person) as Arc<dyn HumanInput>;
    let ran = stopped(&scene, &person.0).await;
    assert_eq!((delete.runs(), &ran.answers(0)[1]["error_type"]), (0, &json!("cancelled")));
    assert_eq!(scene.engine.approvals().pending().await.unwrap(), []);
}

/// An invoker whose batches never end: it reports the outcome of each call, but never returns the
/// answers.
struct Endless(Engine);

impl Invoker for Endless {
    fn invoke(&self, batch: Batch) -> BoxFuture<'_, Vec<Answer>> {
        self.0.invoke(batch)
    }

    fn invoke_with_subscriber(
        &self,
        batch: Batch,
        watch: Arc<dyn BatchSubscriber>,
    ) -> BoxFuture<'_, Vec<Answer>> {
        Box::pin(async move {
            self.0.invoke_with_subscriber(batch, watch).await;
            std::future::pending().await
        })
    }

    fn refuse(&self, batch: Batch, error: ToolError) -> BoxFuture<'_, Vec<Answer>> {
        self.0.refuse(batch, error)
    }

    fn decide(
        &self,
        approval: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Option<Answer>, DecideError>> {
        self.0.decide(approval, decision)
    }

    fn resume(&self, approval: ApprovalId) -> BoxFuture<'_, Result<Option<Answer>, DecideError>> {
        self.0.resume(approval)
    }

    fn open_run(&self, spec: RunSpec) -> Result<RunId, ToolError> {
        self.0.open_run(spec)
    }

    fn charge_tokens(&self, run: RunId, tokens: u64) -> Result<(), ToolError> {
        self.0.charge_tokens(run, tokens)
    }

    fn charge_time(&self, run: RunId, time: Duration) {
        self.0.charge_time(run, time);
    }

    fn labels(&self, run: RunId) -> Option<Labels> {
        self.0.labels(run)
    }

    fn raise_label(&self, run: RunId, label: Label, by: LabelSource) {
        self.0.raise_label(run, label, by);
    }

    fn usage(&self, run: RunId) -> Option<RunUsage> {
        self.0.usage(run)
    }

    fn cancel_run(&self, run: RunId) {
        self.0.cancel_run(run);
    }

    fn close_run(&self, run: RunId) -> Option<RunUsage> {
        self.0.close_run(run)
    }
}

/// Regression: approvals of a batch that was stopped stayed in the inbox, where they could no
/// longer be decided.
#[tokio::test]
async fn what_a_stopped_batch_has_asked_is_withdrawn() {
    let send = Arc::new(risky("send"));
    let scene = Scene::asking(Later, [call("send", 1), say("unheard")], &[&send]).await;
    let mut driver = scene.driver();
    driver.invoker = Arc::new(Endless(scene.engine.clone()));
    let conversation = ConversationId::fresh();
    scene.store.put_conversation(untitled(conversation)).await.unwrap();
    let mut machine =
        Machine::begin(RunId::fresh(), conversation, Vec::new(), typed("go"), scene.rounds);
    let stop = async {
        let question = loop {
            let pending = scene.approvals.pending().await.unwrap();
            if let Some(request) = pending.into_iter().next() {
                break request.id;
            }
            tokio::task::yield_now().await;
        };
        scene.control.stop();
        question
    };
    let job = scene.job();
    let (driven, question) = tokio::join!(driver.drive(&mut machine, &job, &scene.control), stop);
    let DriveOutcome::Ended(end) = driven.unwrap() else { panic!("it was put down") };
    assert_eq!((end.as_str(), send.runs()), ("stopped", 0));
    assert!(scene.approvals.pending().await.unwrap().is_empty());
    let no =
        DecisionRecord { decision: Decision::approve(), decided_by: "late".into(), decided_at: 0 };
    let late = scene.engine.decide(question, no).await.unwrap_err();
    assert!(matches!(late, DecideError::AlreadyDecided(first) if first.decided_by == "stopped"));
    assert_eq!(send.runs(), 0);
}
