//! Stage 9 through the pipeline: people decide, grants remember, and a missing approver denies.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalRequest, ApproverReply, Batch, Call, Decision, DecisionRecord, ErrorType,
    GrantScope, Invoker as _, Origin, OutcomeKind, Risk, RunSpec,
};
use toolcrib_engine::{Engine, EngineSettings};
use toolcrib_testkit::{FakeClock, ScriptedApprover, ScriptedTool, fixed_source};

use crate::support::{call, call_in, engine, failure};

fn risky() -> Arc<ScriptedTool> {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    Arc::new(ScriptedTool::new("risky").takes(schema).spec(|s| s.risk = Risk::High))
}

fn by_ann(decision: Decision) -> DecisionRecord {
    DecisionRecord { decision, decided_by: "ann".into(), decided_at: 1_000 }
}

#[tokio::test]
async fn decisions_and_what_the_model_reads() {
    type Expected = Option<(OutcomeKind, ErrorType, &'static str)>;
    let cases: [(ApproverReply, Expected); 5] = [
        (ApproverReply::Decided { decision: Decision::approve(), by: "ann".into() }, None),
        (
            ApproverReply::Decided {
                decision: Decision::Deny { note: Some("not today".into()) },
                by: "ann".into(),
            },
            Some((
                OutcomeKind::Denied,
                ErrorType::ApprovalDenied,
                "The risky action was denied by the user: not today. Do not retry it.",
            )),
        ),
        (
            ApproverReply::Decided { decision: Decision::Skip, by: "ann".into() },
            Some((
                OutcomeKind::Denied,
                ErrorType::ApprovalDenied,
                "The risky action was skipped by the user and not run. Go on without it.",
            )),
        ),
        (
            ApproverReply::Decided {
                decision: Decision::Edit { args: json!({"n": "many"}) },
                by: "ann".into(),
            },
            Some((OutcomeKind::Failed, ErrorType::ValidationError, "")),
        ),
        (ApproverReply::Unavailable, Some((OutcomeKind::Denied, ErrorType::ApprovalDenied, ""))),
    ];
    for (answer, expected) in cases {
        let tool = risky();
        let approver = Arc::new(ScriptedApprover::new([answer.clone()]));
        let engine = engine(Engine::builder().approver(approver), &[&tool]).await;
        let outcome = call(&engine, "risky", json!({"n": 1})).await;
        match expected {
            None => {
                assert_eq!(outcome.kind, OutcomeKind::Succeeded);
                assert_eq!(outcome.report.approved_by.as_deref(), Some("ann"));
            }
            Some((kind, error_type, text)) => {
                let (k, e, message) = failure(&outcome);
                assert_eq!((k, e), (kind, error_type), "{answer:?}");
                assert!(message.starts_with(text), "{message}");
                assert_eq!(tool.runs(), 0);
            }
        }
    }
}

#[tokio::test]
async fn without_an_approver_a_risky_call_is_denied_at_once() {
    let tool = risky();
    let engine = engine(Engine::builder(), &[&tool]).await;
    let begun = std::time::Instant::now();
    let outcome = call(&engine, "risky", json!({})).await;
    assert_eq!(failure(&outcome).1, ErrorType::ApprovalDenied);
    assert!(begun.elapsed().as_secs() < 1);
    assert_eq!(tool.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn no_answer_by_the_deadline_is_expired() {
    struct Silent;
    impl toolcrib_core::Approver for Silent {
        fn ask<'a>(
            &'a self,
            _: &'a ApprovalRequest,
        ) -> toolcrib_core::BoxFuture<'a, ApproverReply> {
            Box::pin(std::future::pending())
        }
    }
    let tool = risky();
    let engine = engine(Engine::builder().approver(Arc::new(Silent)), &[&tool]).await;
    let outcome = call(&engine, "risky", json!({})).await;
    let (kind, error_type, _) = failure(&outcome);
    assert_eq!((kind, error_type), (OutcomeKind::Expired, ErrorType::ApprovalExpired));
    assert_eq!(outcome.exit_code(), 6);
    assert_eq!(tool.runs(), 0);
}

/// Shows one question at a time, each for 40 seconds.
struct OneAtATime {
    seat: Arc<tokio::sync::Mutex<()>>,
    asked: std::sync::atomic::AtomicUsize,
    decision: Decision,
}

impl OneAtATime {
    fn deciding(decision: Decision) -> Arc<Self> {
        Arc::new(Self { seat: Arc::default(), asked: 0.into(), decision })
    }

    fn asked(&self) -> usize {
        self.asked.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl toolcrib_core::Approver for OneAtATime {
    fn acquire_prompt(
        &self,
    ) -> toolcrib_core::BoxFuture<'_, Option<toolcrib_core::approval::PromptPermit>> {
        let seat = Arc::clone(&self.seat).lock_owned();
        Box::pin(async move { Some(Box::new(seat.await) as toolcrib_core::approval::PromptPermit) })
    }

    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> toolcrib_core::BoxFuture<'a, ApproverReply> {
        self.asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Box::pin(async {
            tokio::time::sleep(std::time::Duration::from_secs(40)).await;
            ApproverReply::Decided { decision: self.decision.clone(), by: "ann".into() }
        })
    }
}

async fn three_at_once(approver: &Arc<OneAtATime>) -> Vec<OutcomeKind> {
    let tool = risky();
    let settings = EngineSettings {
        approval_timeout: Some(std::time::Duration::from_secs(60)),
        ..EngineSettings::default()
    };
    let builder = Engine::builder().settings(settings).approver(Arc::clone(approver) as _);
    let engine = engine(builder, &[&tool]).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    let calls = (0..3).map(|n| Call::new("risky", json!({"n": n}))).collect();
    let batch = Batch { run: Some(run), ..Batch::new(Origin::Model, calls) };
    let answers = engine.invoke(batch).await;
    answers.iter().map(|answer| answer.outcome().unwrap().kind).collect()
}

/// Found in a terminal: the second card of a batch expired while the person still read the first
/// one.
#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_question_runs_only_while_it_is_shown() {
    let approver = OneAtATime::deciding(Decision::approve());
    assert_eq!(three_at_once(&approver).await, [OutcomeKind::Succeeded; 3]);
    assert_eq!(approver.asked(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_decision_for_the_run_answers_the_questions_that_waited_behind_it() {
    let approver = OneAtATime::deciding(Decision::approve_for(GrantScope::Run));
    assert_eq!(three_at_once(&approver).await, [OutcomeKind::Succeeded; 3]);
    assert_eq!(approver.asked(), 1);
}

#[tokio::test]
async fn grants_hold_as_far_as_their_scope_and_no_further() {
    for (scope, same_run, other_run) in
        [(GrantScope::Once, 2, 3), (GrantScope::Run, 1, 2), (GrantScope::Always, 1, 1)]
    {
        let tool = risky();
        let decisions = (0..3).map(|_| Decision::approve_for(scope));
        let approver = Arc::new(ScriptedApprover::deciding(decisions));
        let engine = engine(Engine::builder().approver(Arc::clone(&approver) as _), &[&tool]).await;
        let run = engine.open_run(RunSpec::default()).unwrap();
        call_in(&engine, run, "risky", json!({"n": 1})).await;
        call_in(&engine, run, "risky", json!({"n": 2})).await;
        assert_eq!(approver.asked().len(), same_run, "{scope:?}");
        let other = engine.open_run(RunSpec::default()).unwrap();
        call_in(&engine, other, "risky", json!({"n": 3})).await;
        assert_eq!(approver.asked().len(), other_run, "{scope:?}");
    }
}

#[tokio::test]
async fn grants_are_listed_and_revoked() {
    let tool = risky();
    let approver = Arc::new(ScriptedApprover::deciding([
        Decision::approve_for(GrantScope::Always),
        Decision::Deny { note: None },
    ]));
    let engine = engine(Engine::builder().approver(approver), &[&tool]).await;
    call(&engine, "risky", json!({"n": 1})).await;
    let grants = engine.grants().list("").await.unwrap();
    assert_eq!(grants.len(), 1);
    assert_eq!((grants[0].operation.as_str(), grants[0].created_by.as_str()), ("risky", "ann"));
    assert!(engine.grants().revoke(grants[0].id, "ann", 1_000).await.unwrap());
    assert_eq!(call(&engine, "risky", json!({"n": 2})).await.kind, OutcomeKind::Denied);
}

async fn suspended(engine: &Engine, args: Value) -> Box<ApprovalRequest> {
    let batch = Batch::new(Origin::Model, vec![Call::new("risky", args)]);
    match engine.invoke(batch).await.pop().unwrap() {
        Answer::Suspended(request) => request,
        Answer::Done(outcome) => panic!("{outcome:?}"),
    }
}

async fn inbox(tool: &Arc<ScriptedTool>) -> (Engine, Arc<FakeClock>) {
    let clock = Arc::new(FakeClock::at(0));
    let approver =
        Arc::new(ScriptedApprover::new([ApproverReply::Deferred, ApproverReply::Deferred]));
    let builder = Engine::builder().approver(approver).clock(Arc::clone(&clock) as _);
    (engine(builder, &[tool]).await, clock)
}

#[tokio::test]
async fn a_suspended_call_goes_on_once_and_the_second_decision_gets_the_first() {
    let tool = risky();
    let (engine, _) = inbox(&tool).await;
    let request = suspended(&engine, json!({"n": 7})).await;
    assert_eq!(engine.approvals().pending().await.unwrap().len(), 1);
    assert_eq!(tool.runs(), 0);
    let answer = engine.decide(request.id, by_ann(Decision::approve())).await.unwrap();
    let outcome = answer.as_ref().unwrap().outcome().unwrap();
    assert_eq!((outcome.kind, outcome.call), (OutcomeKind::Succeeded, request.call));
    assert_eq!(tool.seen(), [json!({"n": 7})]);
    let again = engine.decide(request.id, by_ann(Decision::Deny { note: None })).await;
    assert_eq!(
        again,
        Err(DecideError::AlreadyDecided(Box::new(DecisionRecord {
            decided_at: 0,
            ..by_ann(Decision::approve())
        })))
    );
    assert_eq!(tool.runs(), 1);
    assert!(engine.approvals().pending().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_late_decision_is_refused() {
    let tool = risky();
    let (engine, clock) = inbox(&tool).await;
    let request = suspended(&engine, json!({})).await;
    clock.advance(300_000);
    // The date that the caller gives does not count.
    assert_eq!(
        engine.decide(request.id, by_ann(Decision::approve())).await,
        Err(DecideError::Expired)
    );
    assert!(engine.approvals().pending().await.unwrap().is_empty());
    assert_eq!(tool.runs(), 0);
    let stored = engine.calls().call(request.call).await.unwrap().unwrap();
    assert_eq!(stored.row.end.unwrap().outcome, OutcomeKind::Expired);
}

#[tokio::test]
async fn edited_arguments_are_validated_and_run_as_edited() {
    let tool = risky();
    let (engine, _) = inbox(&tool).await;
    let request = suspended(&engine, json!({"n": 1})).await;
    let answer = engine.decide(request.id, by_ann(Decision::Edit { args: json!({"n": 2}) })).await;
    let answer = answer.unwrap();
    let outcome = answer.as_ref().unwrap().outcome().unwrap();
    assert_eq!(outcome.kind, OutcomeKind::Succeeded);
    assert!(outcome.notes.iter().any(|note| note.contains("changed the arguments")));
    assert_eq!(tool.seen(), [json!({"n": 2})]);
}

#[tokio::test]
async fn a_tool_that_changed_since_is_not_run() {
    let tool = risky();
    let (engine, _) = inbox(&tool).await;
    let request = suspended(&engine, json!({})).await;
    let changed = Arc::new(
        ScriptedTool::new("risky")
            .spec(|s| (s.risk, s.description) = (Risk::High, "Other.".into())),
    );
    engine.catalog().attach(&fixed_source("test", &[&changed])).await.unwrap();
    let refused = engine.decide(request.id, by_ann(Decision::approve())).await.unwrap_err();
    assert!(refused.to_string().contains("another definition"), "{refused}");
    let no = Decision::Deny { note: None };
    let answer = engine.decide(request.id, by_ann(no)).await.unwrap();
    assert_eq!(failure(answer.as_ref().unwrap().outcome().unwrap()).1, ErrorType::ApprovalDenied);
    assert_eq!((tool.runs(), changed.runs()), (0, 0));
}

#[tokio::test]
async fn what_is_denied_meanwhile_stays_denied_after_an_approval() {
    let tool = risky();
    let (engine, _) = inbox(&tool).await;
    let request = suspended(&engine, json!({})).await;
    engine.catalog().set_tools_enabled(false);
    let answer = engine.decide(request.id, by_ann(Decision::approve())).await.unwrap();
    assert_eq!(failure(answer.as_ref().unwrap().outcome().unwrap()).1, ErrorType::ToolsDisabled);
    assert_eq!(tool.runs(), 0);
}

#[test]
fn a_request_survives_being_stored_as_text() {
    let settings = EngineSettings { approval_timeout: None, ..EngineSettings::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = runtime.block_on(async {
        let approver = Arc::new(ScriptedApprover::new([ApproverReply::Deferred]));
        let builder = Engine::builder().approver(approver).settings(settings);
        suspended(&engine(builder, &[&risky()]).await, json!({"n": 1})).await
    });
    let text = serde_json::to_string(&request).unwrap();
    assert_eq!(serde_json::from_str::<ApprovalRequest>(&text).unwrap(), *request);
    assert_eq!(request.expires_at, None);
}

#[tokio::test]
async fn a_decision_on_another_surface_goes_to_the_call_that_waits() {
    struct Silent(std::sync::Mutex<Option<toolcrib_core::ApprovalId>>);
    impl toolcrib_core::Approver for Silent {
        fn ask<'a>(
            &'a self,
            r: &'a ApprovalRequest,
        ) -> toolcrib_core::BoxFuture<'a, ApproverReply> {
            *self.0.lock().unwrap() = Some(r.id);
            Box::pin(std::future::pending())
        }
    }
    let tool = risky();
    let approver = Arc::new(Silent(std::sync::Mutex::default()));
    let engine = engine(Engine::builder().approver(Arc::clone(&approver) as _), &[&tool]).await;
    let waiting = call(&engine, "risky", json!({"n": 1}));
    tokio::pin!(waiting);
    assert!(futures_util::poll!(waiting.as_mut()).is_pending());
    let id = approver.0.lock().unwrap().unwrap();
    assert_eq!(engine.decide(id, by_ann(Decision::approve())).await, Ok(None));
    assert_eq!(waiting.await.kind, OutcomeKind::Succeeded);
    assert_eq!(tool.runs(), 1);
}

#[tokio::test]
async fn a_grant_does_not_answer_for_a_higher_risk() {
    let tool = ScriptedTool::new("risky").spec(|s| s.risk = Risk::High).assesses(|spec, args| {
        let mut assessed = toolcrib_core::Assessment::from_spec(spec);
        if args["n"] == 2 {
            assessed.risk = Risk::Critical;
        }
        Ok(assessed)
    });
    let tool = Arc::new(tool);
    let always = || Decision::approve_for(GrantScope::Always);
    let approver = Arc::new(ScriptedApprover::deciding([always(), always()]));
    let engine = engine(Engine::builder().approver(Arc::clone(&approver) as _), &[&tool]).await;
    for n in [1, 3, 2] {
        call(&engine, "risky", json!({"n": n})).await;
    }
    assert_eq!(approver.asked().len(), 2, "once for high, once for critical");
}

#[tokio::test]
async fn a_suspended_call_of_a_closed_run_is_not_run() {
    let tool = risky();
    let (engine, _) = inbox(&tool).await;
    let run = engine.open_run(RunSpec::default()).unwrap();
    let mut batch = Batch::new(Origin::Model, vec![Call::new("risky", json!({}))]);
    batch.run = Some(run);
    let Answer::Suspended(request) = engine.invoke(batch).await.pop().unwrap() else { panic!() };
    engine.close_run(run);
    let answer = engine.decide(request.id, by_ann(Decision::approve())).await.unwrap().unwrap();
    assert_eq!(answer.outcome().unwrap().kind, OutcomeKind::Failed);
    assert_eq!(tool.runs(), 0);
}
