//! Tests of stored questions: stored before they are shown, answered once, here, elsewhere or
//! between two processes; and deadlines when clocks are changed.

use std::time::Duration;

use toolcrib_core::store::PendingApproval;
use toolcrib_core::{ApprovalId, BoxFuture, Decision, DecisionRecord, RunStore as _, StoreError};
use toolcrib_testkit::FakeClock;

use super::super::restore;
use super::pause_and_resume::{Answers, Later};
use super::*;
use crate::machine::{Question, QuestionAnswer};

fn script() -> Vec<ScriptTurn> {
    let asks = json!({"question": "Which?", "context": "two fit", "options": ["a", "b"]});
    vec![ScriptTurn::call("ask_user", asks), say("done")]
}

fn answer(text: &str) -> Decision {
    Decision::Answer { text: text.to_owned() }
}

fn by_ann(decision: Decision) -> DecisionRecord {
    DecisionRecord { decision, decided_by: "ann".to_owned(), decided_at: 0 }
}

/// No person is available, and the run waits for this time.
struct Nowhere(Option<Duration>);

impl HumanInput for Nowhere {
    fn answer<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>> {
        Box::pin(std::future::ready(None))
    }

    fn wait_limit(&self) -> Option<Duration> {
        self.0
    }
}

/// A person who never answers.
struct Thinks;

impl HumanInput for Thinks {
    fn answer<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>> {
        Box::pin(std::future::pending())
    }
}

async fn scene(person: impl HumanInput + 'static) -> Scene {
    let mut scene = Scene::new(script(), &[]).await;
    scene.person = Arc::new(person);
    scene
}

/// Runs this on the only open question, as soon as there is one.
async fn when_asked<T>(
    approvals: &dyn ApprovalStore,
    then: impl AsyncFnOnce(toolcrib_core::ApprovalRequest) -> T,
) -> T {
    loop {
        let mut waiting = approvals.pending().await.unwrap();
        if let Some(request) = waiting.pop() {
            return then(request).await;
        }
        tokio::task::yield_now().await;
    }
}

fn status(ran: &Ran) -> String {
    ran.answers(0)[0]["result"]["status"].as_str().unwrap().to_owned()
}

/// The only question of a run that paused.
async fn asked(scene: &Scene) -> (Ran, PendingApproval) {
    let ran = scene.run().await;
    assert_eq!(ran.end(), "paused");
    let mut waiting = scene.approvals.pending().await.unwrap();
    let request = waiting.pop().unwrap();
    assert!(waiting.is_empty());
    let (kept, decided) = scene.approvals.get(request.id).await.unwrap().unwrap();
    assert_eq!(decided, None);
    (ran, kept)
}

/// Another process over the same stores.
async fn resumed(before: &Scene, ran: &Ran, person: impl HumanInput + 'static) -> Ran {
    let engine = Engine::builder().approver(Arc::new(Later));
    let mut scene = Scene::keeping(Arc::clone(&before.approvals), engine, script(), &[]).await;
    scene.store = Arc::clone(&before.store);
    scene.clock = Arc::clone(&before.clock);
    scene.person = Arc::new(person);
    let left = scene.store.run(ran.machine.state().run).await.unwrap().unwrap();
    let taken = scene.store.claim_run(left.id, left.epoch).await.unwrap();
    let messages = scene.store.messages(taken.conversation, 0).await.unwrap();
    let (machine, used, _) = restore(&taken, messages).unwrap();
    let job = RunJob { used, epoch: taken.epoch, resumed: true, ..scene.job() };
    scene.drive(machine, &job).await
}

#[tokio::test]
async fn a_question_is_in_the_inbox_with_everything_that_a_person_needs() {
    let scene = scene(NoHumanInput).await;
    let (ran, kept) = asked(&scene).await;
    let PendingApproval { request, batch, setup } = kept;
    let question = request.question.clone().unwrap();
    assert_eq!((question.question.as_str(), question.options.len()), ("Which?", 2));
    assert_eq!((request.run, request.expires_at), (Some(ran.machine.state().run), None));
    assert_eq!((request.tool.as_str(), request.context.owner.as_str()), ("ask_user", "ann"));
    assert!(batch.calls.is_empty(), "its call has run");
    assert_eq!(setup, json!({"kept": "as it is"}));
    let DriveOutcome::Paused(pending) = &ran.driven else { panic!("{:?}", ran.driven) };
    assert_eq!(pending[0].approval(), Some(request.id));
}

#[tokio::test]
async fn what_is_answered_between_two_processes_is_taken_up() {
    for (decision, expected) in [
        (answer("b"), "answered"),
        (Decision::Skip, "skipped"),
        (Decision::Deny { note: None }, "skipped"),
    ] {
        let scene = scene(NoHumanInput).await;
        let (ran, kept) = asked(&scene).await;
        scene.approvals.decide(kept.request.id, by_ann(decision)).await.unwrap().unwrap();
        // The first answer counts, even if a later one differs.
        let after = resumed(&scene, &ran, Answers("a")).await;
        assert_eq!((after.end(), status(&after).as_str()), ("completed", expected));
        let said = if expected == "answered" { vec!["[Answer to: Which?] b"] } else { vec![] };
        assert_eq!(after.said(UserKind::Answer), said);
    }
}

/// The question survives three restarts and is asked once.
#[tokio::test]
async fn three_restarts_while_it_waits_ask_nothing_anew() {
    let scene = scene(NoHumanInput).await;
    let (mut ran, kept) = asked(&scene).await;
    for _ in 0..3 {
        ran = resumed(&scene, &ran, NoHumanInput).await;
        assert_eq!(ran.end(), "paused");
        let waiting = scene.approvals.pending().await.unwrap();
        assert_eq!(waiting, std::slice::from_ref(&kept.request));
    }
    scene.approvals.decide(kept.request.id, by_ann(answer("a"))).await.unwrap().unwrap();
    let ran = resumed(&scene, &ran, NoHumanInput).await;
    assert_eq!(ran.answers(0)[0]["result"]["selected_option"], 1);
}

#[tokio::test]
async fn a_live_run_takes_up_an_answer_from_elsewhere() {
    for patient in [true, false] {
        let scene = match patient {
            true => scene(Nowhere(Some(Duration::from_secs(60)))).await,
            false => scene(Thinks).await,
        };
        let elsewhere = when_asked(&*scene.approvals, async |request| {
            assert_eq!(request.expires_at.is_some(), patient);
            scene.approvals.decide(request.id, by_ann(answer("b"))).await.unwrap().unwrap();
        });
        let (ran, ()) = tokio::join!(scene.run(), elsewhere);
        assert_eq!((ran.end(), status(&ran).as_str()), ("completed", "answered"));
    }
}

#[tokio::test]
async fn an_answer_here_is_stored_with_the_person_who_gave_it() {
    struct Ben;
    impl HumanInput for Ben {
        fn answer<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<QuestionAnswer>> {
            let said = QuestionAnswer::Answered { text: "c".to_owned() };
            Box::pin(std::future::ready(Some(said)))
        }
        fn name(&self) -> &str {
            "ben"
        }
    }
    let scene = scene(Ben).await;
    let ran = scene.run().await;
    assert_eq!(ran.end(), "completed");
    let (_, decided) = scene.approvals.list("ann", 1).await.unwrap().remove(0);
    let decided = decided.unwrap();
    assert_eq!((decided.decision, decided.decided_by.as_str()), (answer("c"), "ben"));
    assert!(decided.decided_at > 0);
}

/// An approval store that fails to write a question.
struct Full(MemoryApprovals);

impl ApprovalStore for Full {
    fn ask(&self, _: PendingApproval) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Full("no room".to_owned()))))
    }
    fn get(
        &self,
        id: ApprovalId,
    ) -> BoxFuture<'_, Result<Option<toolcrib_core::store::ApprovalWithDecision>, StoreError>> {
        self.0.get(id)
    }
    fn for_call(
        &self,
        call: toolcrib_core::CallId,
    ) -> BoxFuture<'_, Result<Option<toolcrib_core::store::ApprovalWithDecision>, StoreError>> {
        self.0.for_call(call)
    }
    fn decide(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>> {
        self.0.decide(id, decision)
    }
    fn pending(&self) -> BoxFuture<'_, Result<Vec<toolcrib_core::ApprovalRequest>, StoreError>> {
        self.0.pending()
    }
    fn list<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<toolcrib_core::store::ApprovalWithDecision>, StoreError>> {
        self.0.list(owner, limit)
    }
    fn list_before<'a>(
        &'a self,
        owner: &'a str,
        before: ApprovalId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<toolcrib_core::store::ApprovalWithDecision>, StoreError>> {
        self.0.list_before(owner, before, limit)
    }
}

#[tokio::test]
async fn a_question_that_cannot_be_stored_is_not_shown() {
    let full = Arc::new(Full(MemoryApprovals::default()));
    let mut scene = Scene::keeping(full, Engine::builder(), script(), &[]).await;
    scene.person = Arc::new(Answers("a"));
    let ran = scene.run().await;
    assert_eq!(ran.end(), "paused");
    assert!(!ran.events.iter().any(|event| matches!(event, Event::Question { .. })));
    let says = |event: &Event| matches!(event, Event::Notice { text } if text.contains("no room"));
    assert!(ran.events.iter().any(says), "{:?}", ran.events);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_not_answered_in_time() {
    let scene = scene(Nowhere(Some(Duration::from_secs(5)))).await;
    let ran = scene.run().await;
    assert_eq!((ran.end(), status(&ran).as_str()), ("completed", "expired"));
    let (_, decided) = scene.approvals.list("ann", 1).await.unwrap().remove(0);
    assert!(decided.unwrap().is_expiry());
}

const NOON: i64 = 1_800_000_000_000;
const DAY: i64 = 24 * 3600 * 1000;

/// The wall clock jumps ahead while a question waits: it expires once, and setting the clock back
/// does not revive it.
#[tokio::test]
async fn a_clock_put_ahead_expires_a_question_once() {
    let clock = Arc::new(FakeClock::at(NOON));
    let mut scene = scene(Nowhere(Some(Duration::from_secs(3600)))).await;
    scene.clock = Arc::clone(&clock) as _;
    let ahead = when_asked(&*scene.approvals, async |request| {
        assert_eq!(request.expires_at, Some(NOON + 3_600_000));
        clock.advance(DAY);
        request.id
    });
    let (ran, id) = tokio::join!(scene.run(), ahead);
    assert_eq!((ran.end(), status(&ran).as_str()), ("completed", "expired"));
    clock.advance(-DAY);
    let first = scene.approvals.decide(id, by_ann(answer("a"))).await.unwrap().unwrap_err();
    assert!(first.is_expiry());
    let answers = ran.events.iter().filter(|e| matches!(e, Event::QuestionAnswered { .. }));
    assert_eq!(answers.count(), 1);
}

/// The wall clock is set back while a question waits: its deadline does not move.
#[tokio::test(start_paused = true)]
async fn a_clock_put_back_does_not_prolong_a_deadline() {
    let clock = Arc::new(FakeClock::at(NOON));
    let mut scene = scene(Nowhere(Some(Duration::from_millis(600)))).await;
    scene.clock = Arc::clone(&clock) as _;
    let back = when_asked(&*scene.approvals, async |_| clock.advance(-DAY));
    let (ran, ()) = tokio::join!(scene.run(), back);
    assert_eq!((ran.end(), status(&ran).as_str()), ("completed", "expired"));
}

/// A question whose deadline passed between two processes has expired, even if a person is
/// available now.
#[tokio::test]
async fn a_deadline_that_passed_between_two_processes_counts() {
    let clock = Arc::new(FakeClock::at(NOON));
    let mut scene = scene(NoHumanInput).await;
    scene.clock = Arc::clone(&clock) as _;
    let (ran, kept) = asked(&scene).await;
    // The same question with a deadline, as a waiting run would have stored it.
    let store = Arc::new(MemoryApprovals::default());
    let mut limited = kept.clone();
    limited.request.expires_at = Some(NOON + 1000);
    store.ask(limited).await.unwrap();
    scene.approvals = store;
    clock.advance(1000);
    let after = resumed(&scene, &ran, Answers("a")).await;
    assert_eq!((after.end(), status(&after).as_str()), ("completed", "expired"));
}
