//! Decisions that outlive the asking process: resuming after a restart, grants, and changes of the
//! clock.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, ApprovalStore as _, ApproverReply, Assessment, BoxFuture,
    CallStore as _, Decision, DecisionRecord, Effect, ErrorType, GrantScope, GrantStore as _,
    Invoker as _, OutcomeKind, Risk, ToolError,
};
use toolcrib_engine::{Engine, EngineSettings};
use toolcrib_testkit::{FakeClock, ScriptedApprover, ScriptedTool};

use crate::multi_process::{Gated, Machine, again, answer, done, work};
use crate::support::{call, engine, failure, text};

fn by_ann(decision: Decision) -> DecisionRecord {
    DecisionRecord { decision, decided_by: "ann".into(), decided_at: 2_000 }
}

async fn suspended(engine: &Engine, n: i64) -> ApprovalRequest {
    match answer(engine, work(n)).await {
        Answer::Suspended(request) => *request,
        Answer::Done(outcome) => panic!("{outcome:?}"),
    }
}

/// Asks in a process that dies after the decision was written and before it had any effect.
async fn decided(
    machine: &Machine,
    tool: &Arc<ScriptedTool>,
    decision: Decision,
) -> ApprovalRequest {
    let first = machine.process(&[tool]).await;
    let request = suspended(&first, 1).await;
    machine.approvals.decide(request.id, by_ann(decision)).await.unwrap().unwrap();
    machine.kill(&first).await;
    request
}

#[tokio::test]
async fn going_on_wants_a_question_that_was_decided() {
    let (machine, gated) = (Machine::new(), Gated::new(Effect::SideEffect, Risk::High).opened());
    let engine = machine.process(&[&gated.tool]).await;
    assert_eq!(engine.resume(ApprovalId::fresh()).await, Err(DecideError::NotFound));
    let request = suspended(&engine, 1).await;
    assert_eq!(engine.resume(request.id).await, Err(DecideError::Undecided));
    assert_eq!(gated.tool.runs(), 0);
    let yes = by_ann(Decision::approve());
    machine.approvals.decide(request.id, yes).await.unwrap().unwrap();
    let told = done(engine.resume(request.id).await.unwrap().unwrap());
    assert_eq!(text(&told), r#"did {"n":1}"#);
    let stored = machine.text_of(told.call).await.unwrap();
    for _ in 0..2 {
        let later = done(engine.resume(request.id).await.unwrap().unwrap());
        assert_eq!((later.to_text(), later.to_wire()), (stored.clone(), told.to_wire()));
    }
    assert_eq!(gated.tool.runs(), 1);
}

#[tokio::test]
async fn resuming_while_the_call_runs_does_not_run_it_twice() {
    for effect in [Effect::Read, Effect::SideEffect] {
        let (machine, gated) = (Machine::new(), Gated::new(effect, Risk::High));
        let request = decided(&machine, &gated.tool, Decision::approve()).await;
        let one = machine.process(&[&gated.tool]).await;
        let other = machine.process(&[&gated.tool]).await;
        let mut running = one.resume(request.id);
        assert!(futures_util::poll!(running.as_mut()).is_pending());
        // In this process the call continues in the other task; another process can only report
        // that.
        assert_eq!(one.resume(request.id).await.unwrap(), None);
        let outcome = done(other.resume(request.id).await.unwrap().unwrap());
        assert!(failure(&outcome).2.contains("is running now"), "{outcome:?}");
        gated.open();
        assert_eq!(text(&done(running.await.unwrap().unwrap())), r#"did {"n":1}"#);
        assert_eq!(gated.tool.runs(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_go_on_one_runs_the_call() {
    for _ in 0..50 {
        let machine = Machine::new();
        let gated = Gated::new(Effect::SideEffect, Risk::High).opened();
        let request = decided(&machine, &gated.tool, Decision::approve()).await;
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..2 {
            let process = machine.process(&[&gated.tool]).await;
            for _ in 0..2 {
                let process = process.clone();
                tasks.spawn(async move { process.resume(request.id).await.unwrap() });
            }
        }
        tasks.join_all().await;
        assert_eq!(gated.tool.runs(), 1);
        let stored = machine.calls.call(request.call).await.unwrap().unwrap();
        assert_eq!(stored.row.end.unwrap().outcome, OutcomeKind::Succeeded);
    }
}

#[tokio::test]
async fn a_question_whose_time_is_over_has_one_outcome_however_it_is_found() {
    let (machine, gated) = (Machine::new(), Gated::new(Effect::SideEffect, Risk::High).opened());
    let first = machine.process(&[&gated.tool]).await;
    let (found, left) = (suspended(&first, 1).await, suspended(&first, 2).await);
    machine.clock.advance(300_000);
    let yes = || by_ann(Decision::approve());
    assert_eq!(first.decide(found.id, yes()).await, Err(DecideError::Expired));
    // The other question was closed by a process that died before it wrote the outcome.
    let expiry = DecisionRecord::expiry(301_000);
    machine.approvals.decide(left.id, expiry).await.unwrap().unwrap();
    machine.kill(&first).await;
    let next = machine.process(&[&gated.tool]).await;
    // Setting the clock back does not reopen a question.
    machine.clock.advance(-86_400_000);
    for request in [found, left] {
        let late = next.decide(request.id, yes()).await;
        let Err(DecideError::AlreadyDecided(record)) = late else { panic!("{late:?}") };
        assert!(record.is_expiry());
        let told = done(next.resume(request.id).await.unwrap().unwrap());
        assert_eq!(failure(&told).1, ErrorType::ApprovalExpired);
        assert_eq!(told.kind, OutcomeKind::Expired);
        let again = done(next.resume(request.id).await.unwrap().unwrap());
        assert_eq!(again.to_wire(), told.to_wire());
    }
    assert_eq!(gated.tool.runs(), 0);
}

fn other_definition(tool: &ScriptedTool) -> Arc<ScriptedTool> {
    let spec = toolcrib_core::Handler::spec(tool).clone();
    let (risk, effect, schema) = (spec.risk, spec.effect, (*spec.input_schema).clone());
    Arc::new(ScriptedTool::new("work").takes(schema).spec(|s| {
        (s.risk, s.effect, s.description) = (risk, effect, "Does something else.".into());
    }))
}

#[tokio::test]
async fn a_definition_that_changed_voids_a_decision_before_and_after_a_restart() {
    for decision in [Decision::approve(), Decision::Edit { args: json!({"n": 2}) }] {
        for dies_first in [false, true] {
            let machine = Machine::new();
            let gated = Gated::new(Effect::SideEffect, Risk::High).opened();
            let changed = other_definition(&gated.tool);
            let first = machine.process(&[&gated.tool]).await;
            let request = suspended(&first, 1).await;
            if dies_first {
                machine
                    .approvals
                    .decide(request.id, by_ann(decision.clone()))
                    .await
                    .unwrap()
                    .unwrap();
            }
            machine.kill(&first).await;
            let next = machine.process(&[&changed]).await;
            if !dies_first {
                let refused = next.decide(request.id, by_ann(decision.clone())).await;
                let Err(DecideError::OtherEnvironment(why)) = refused else {
                    panic!("{refused:?}")
                };
                assert!(why.contains("another definition"), "{why}");
                let (_, decided) = machine.approvals.get(request.id).await.unwrap().unwrap();
                assert_eq!(decided, None, "the approval is not used up");
                continue;
            }
            let told = next.resume(request.id).await.unwrap();
            let outcome = done(told.unwrap());
            let (_, error_type, message) = failure(&outcome);
            assert_eq!(error_type, ErrorType::ApprovalDenied);
            assert!(message.contains("has changed since it was approved"), "{message}");
            assert_eq!((gated.tool.runs(), changed.runs()), (0, 0));
        }
    }
}

/// More than ten is critical, a hundred is refused.
fn judging() -> ScriptedTool {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    ScriptedTool::new("work").takes(schema).spec(|s| s.risk = Risk::High).assesses(|spec, args| {
        let n = args["n"].as_i64().unwrap_or_default();
        if n >= 100 {
            return Err(ToolError::validation("Too many."));
        }
        let risk = if n > 10 { Risk::Critical } else { Risk::High };
        Ok(Assessment { risk, ..Assessment::from_spec(spec) })
    })
}

#[tokio::test]
async fn edited_arguments_are_validated_and_assessed_again_after_a_restart() {
    let cases: [(Value, Result<Risk, ErrorType>); 5] = [
        (json!({"n": 2}), Ok(Risk::High)),
        (json!({"n": "12"}), Ok(Risk::Critical)),
        (json!({"n": "many"}), Err(ErrorType::ValidationError)),
        (json!([1]), Err(ErrorType::ValidationError)),
        (json!({"n": 100}), Err(ErrorType::ValidationError)),
    ];
    for (args, expected) in cases {
        let (machine, tool) = (Machine::new(), Arc::new(judging()));
        let edit = Decision::Edit { args: args.clone() };
        let request = decided(&machine, &tool, edit).await;
        let next = machine.process(&[&tool]).await;
        let told = done(next.resume(request.id).await.unwrap().unwrap());
        match expected {
            Ok(risk) => {
                assert_eq!(told.kind, OutcomeKind::Succeeded, "{args}");
                assert_eq!(told.report.risk, Some(risk));
                assert!(told.notes.iter().any(|note| note.contains("changed the arguments")));
                assert_eq!(tool.runs(), 1);
            }
            Err(error_type) => {
                assert_eq!(failure(&told).1, error_type, "{args}");
                assert_eq!(tool.runs(), 0);
            }
        }
    }
}

#[tokio::test]
async fn a_grant_answers_only_arguments_that_look_as_it_says() {
    let (machine, gated) =
        (Machine::new(), ScriptedTool::new("work").spec(|s| s.risk = Risk::High));
    let tool = Arc::new(gated);
    let engine = machine.process(&[&tool]).await;
    let ask = |args: Value| {
        toolcrib_core::Batch::new(
            toolcrib_core::Origin::Model,
            vec![toolcrib_core::Call::new("work", args)],
        )
    };
    let first = answer(&engine, ask(json!({"path": "notes/a.txt", "n": 7}))).await;
    let Answer::Suspended(request) = first else { panic!("{first:?}") };
    let only = [("path".to_owned(), "notes/*".to_owned()), ("n".to_owned(), "7*".to_owned())];
    let decision = Decision::Approve { scope: GrantScope::Always, only: only.into(), taint: false };
    engine.decide(request.id, by_ann(decision)).await.unwrap();
    assert_eq!(machine.grants.list("").await.unwrap().len(), 1);
    for (args, answers) in [
        (json!({"path": "notes/b/c.txt", "n": 7}), true),
        (json!({"path": "notes/", "n": 70, "more": true}), true),
        (json!({"path": "note", "n": 7}), false),
        (json!({"path": "/notes/a", "n": 7}), false),
        (json!({"path": "notes/a"}), false),
        (json!({"n": 7}), false),
        (json!({"path": ["notes/a"], "n": 7}), false),
        (json!({"path": "notes/a", "n": 17}), false),
        (json!({"path": "notes/a", "n": "7 of them"}), true),
        (json!({}), false),
    ] {
        let answer = answer(&engine, ask(args.clone())).await;
        assert_eq!(answer.outcome().is_some(), answers, "{args}");
    }
}

/// Is asked, and never answers.
struct Silent(std::sync::Mutex<Vec<ApprovalId>>);

impl toolcrib_core::Approver for Silent {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        self.0.lock().unwrap().push(request.id);
        Box::pin(std::future::pending())
    }
}

const DAY: i64 = 86_400_000;

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_changes_no_timeout_of_a_tool() {
    for jump in [-DAY, DAY] {
        let clock = Arc::new(FakeClock::at(10 * DAY));
        let jumping = Arc::clone(&clock);
        let tool = ScriptedTool::new("slow")
            .spec(|s| (s.effect, s.timeout) = (Effect::SideEffect, Duration::from_secs(10)))
            .does(move |_, args| {
                let (clock, seconds) = (Arc::clone(&jumping), args["seconds"].as_u64().unwrap());
                Box::pin(async move {
                    clock.advance(jump);
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    Ok(toolcrib_core::ToolOutput::text("done"))
                })
            });
        let tool = Arc::new(tool);
        let engine = engine(Engine::builder().clock(clock), &[&tool]).await;
        assert_eq!(text(&call(&engine, "slow", json!({"seconds": 9})).await), "done");
        let begun = tokio::time::Instant::now();
        let outcome = call(&engine, "slow", json!({"seconds": 11})).await;
        assert_eq!(outcome.kind, OutcomeKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), 10);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_changes_no_deadline_of_who_is_asked_now() {
    for jump in [-DAY, 0, DAY] {
        let (machine, gated) =
            (Machine::new(), Gated::new(Effect::SideEffect, Risk::High).opened());
        let silent = Arc::new(Silent(std::sync::Mutex::default()));
        let settings = EngineSettings {
            approval_timeout: Some(Duration::from_secs(300)),
            ..EngineSettings::default()
        };
        let builder = Engine::builder()
            .calls(Arc::clone(&machine.calls) as _)
            .approvals(Arc::clone(&machine.approvals) as _)
            .clock(Arc::clone(&machine.clock) as _)
            .settings(settings)
            .approver(Arc::clone(&silent) as _);
        let engine = engine(builder, &[&gated.tool]).await;
        let begun = tokio::time::Instant::now();
        let mut waiting = engine.invoke(work(1));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        machine.clock.advance(jump);
        let outcome = done(waiting.await.remove(0));
        assert_eq!((outcome.kind, begun.elapsed().as_secs()), (OutcomeKind::Expired, 300));
        let id = silent.0.lock().unwrap()[0];
        let (_, record) = machine.approvals.get(id).await.unwrap().unwrap();
        assert!(record.unwrap().is_expiry());
        assert_eq!(gated.tool.runs(), 0);
    }
}

/// The clock passes the deadline while a call still waits here: the call ends at once, with one
/// outcome.
#[tokio::test(start_paused = true)]
async fn a_decision_after_a_jump_ahead_ends_the_call_that_waits_here() {
    let (machine, gated) = (Machine::new(), Gated::new(Effect::SideEffect, Risk::High).opened());
    let silent = Arc::new(Silent(std::sync::Mutex::default()));
    let builder = Engine::builder()
        .calls(Arc::clone(&machine.calls) as _)
        .approvals(Arc::clone(&machine.approvals) as _)
        .clock(Arc::clone(&machine.clock) as _)
        .approver(Arc::clone(&silent) as _);
    let engine = engine(builder, &[&gated.tool]).await;
    let begun = tokio::time::Instant::now();
    let batch = work(1);
    let mut waiting = engine.invoke(batch.clone());
    assert!(futures_util::poll!(waiting.as_mut()).is_pending());
    machine.clock.advance(DAY);
    let id = silent.0.lock().unwrap()[0];
    let yes = by_ann(Decision::approve());
    assert_eq!(engine.decide(id, yes).await, Err(DecideError::Expired));
    let outcome = done(waiting.await.remove(0));
    assert_eq!(outcome.kind, OutcomeKind::Expired);
    assert_eq!(begun.elapsed().as_secs(), 0, "nobody waits for a deadline that is over");
    let told = done(answer(&engine, again(&batch)).await);
    assert_eq!(told.to_wire(), outcome.to_wire());
    assert_eq!(gated.tool.runs(), 0);
}

#[tokio::test]
async fn a_question_that_waits_in_the_store_follows_the_clock_that_is_there() {
    let (machine, gated) = (Machine::new(), Gated::new(Effect::SideEffect, Risk::High).opened());
    machine.clock.advance(10 * DAY);
    let engine = machine.process(&[&gated.tool]).await;
    // With the clock set back a day, the question does not expire early and can still be decided.
    let request = suspended(&engine, 1).await;
    machine.clock.advance(-DAY);
    let told = engine.decide(request.id, by_ann(Decision::approve())).await.unwrap();
    assert_eq!(text(&done(told.unwrap())), r#"did {"n":1}"#);
    // With the clock set ahead a day, the question expires once.
    let request = suspended(&engine, 2).await;
    machine.clock.advance(DAY);
    let yes = || by_ann(Decision::approve());
    assert_eq!(engine.decide(request.id, yes()).await, Err(DecideError::Expired));
    machine.clock.advance(-DAY);
    assert!(matches!(engine.decide(request.id, yes()).await, Err(DecideError::AlreadyDecided(_))));
    let stored = machine.calls.call(request.call).await.unwrap().unwrap();
    assert_eq!(stored.row.end.unwrap().outcome, OutcomeKind::Expired);
    assert_eq!(gated.tool.runs(), 1);
}

#[tokio::test]
async fn a_grant_is_given_once_however_often_the_call_goes_on() {
    let (machine, gated) = (Machine::new(), Gated::new(Effect::SideEffect, Risk::High).opened());
    let first = machine.process(&[&gated.tool]).await;
    let request = suspended(&first, 1).await;
    let always = by_ann(Decision::approve_for(GrantScope::Always));
    first.decide(request.id, always.clone()).await.unwrap();
    assert!(matches!(first.decide(request.id, always).await, Err(DecideError::AlreadyDecided(_))));
    machine.kill(&first).await;
    let next = machine.process(&[&gated.tool]).await;
    next.resume(request.id).await.unwrap();
    let grants = machine.grants.list("").await.unwrap();
    assert_eq!(grants.len(), 1);
    // A revoked grant is not restored when the call resumes.
    machine.grants.revoke(grants[0].id, "ann", 3_000).await.unwrap();
    next.resume(request.id).await.unwrap();
    assert!(machine.grants.list("").await.unwrap().is_empty());
    assert!(matches!(answer(&next, work(3)).await, Answer::Suspended(_)));
}

#[tokio::test]
async fn who_approves_here_is_in_the_record_of_the_call() {
    let (machine, gated) = (Machine::new(), Gated::new(Effect::SideEffect, Risk::High).opened());
    let approver = Arc::new(ScriptedApprover::approving(1));
    let builder = Engine::builder()
        .calls(Arc::clone(&machine.calls) as _)
        .approver(Arc::clone(&approver) as _);
    let engine = engine(builder, &[&gated.tool]).await;
    let outcome = done(answer(&engine, work(1)).await);
    let row = machine.calls.call(outcome.call).await.unwrap().unwrap().row;
    assert_eq!(row.facts.approval, Some(approver.asked()[0].id));
    assert_eq!(row.facts.approved_by.as_deref(), Some("ann"));
    assert_eq!(row.facts.args.as_deref(), Some(r#"{"n":1}"#));
}
