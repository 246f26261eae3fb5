//! A call that continues in one task is not answered by another one.

use std::sync::Arc;

use futures_util::poll;
use serde_json::json;
use tokio::sync::Notify;
use toolcrib_core::spec::Access;
use toolcrib_core::{
    Answer, ApprovalStore as _, Assessment, Decision, DecisionRecord, Effect, Invoker as _,
    OutcomeKind, Risk, ToolOutput,
};
use toolcrib_engine::Engine;
use toolcrib_testkit::{ScriptedApprover, ScriptedTool, fixed_source};

use crate::multi_process::{Gated, Machine, answer, done, work};

fn by_ann() -> DecisionRecord {
    let decision = Decision::approve();
    DecisionRecord { decision, decided_by: "ann".into(), decided_at: 2_000 }
}

/// Found by `cargo xtask crash`: the same between the decision and the record that the call starts,
/// in the task that had asked itself.
#[tokio::test]
async fn a_call_that_was_decided_about_where_it_waits_is_not_taken_up_elsewhere() {
    let machine = Machine::new();
    let gate = Arc::new(Notify::new());
    let waits = Arc::clone(&gate);
    let tool = ScriptedTool::new("work")
        .takes(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
        .spec(|spec| (spec.effect, spec.risk) = (Effect::SideEffect, Risk::High))
        .assesses(|spec, _| Ok(Assessment::from_spec(spec).with_lock("one", Access::Exclusive)))
        .does(move |_, args| {
            let (waits, first) = (Arc::clone(&waits), args["n"] == 1);
            Box::pin(async move {
                if first {
                    waits.notified().await;
                }
                Ok(ToolOutput::text("done"))
            })
        });
    let tool = Arc::new(tool);
    let engine = Engine::builder()
        .calls(Arc::clone(&machine.calls) as _)
        .approvals(Arc::clone(&machine.approvals) as _)
        .approver(Arc::new(ScriptedApprover::approving(2)))
        .build();
    engine.catalog().attach(&fixed_source("test", &[&tool])).await.unwrap();
    // The first call holds the lock that the second needs, so the second is approved and has not
    // started.
    let (mut first, mut second) = (engine.invoke(work(1)), engine.invoke(work(2)));
    assert!(poll!(first.as_mut()).is_pending() && poll!(second.as_mut()).is_pending());
    let asked = machine.approvals.list("", 9).await.unwrap();
    let asked = asked.iter().find(|(waiting, _)| waiting.request.args["n"] == 2).unwrap();
    assert!(asked.1.is_some(), "it was decided");
    let mut other = engine.resume(asked.0.request.id);
    let early = poll!(other.as_mut());
    gate.notify_waiters();
    let opens = async { first.await.len() };
    let (_, answers) = futures_util::join!(opens, second);
    let outcome = done(answers.into_iter().next().unwrap());
    let other = match early {
        std::task::Poll::Ready(answer) => answer,
        std::task::Poll::Pending => other.await,
    };
    assert_eq!(outcome.kind, OutcomeKind::Succeeded, "{outcome:?}");
    if let Some(Answer::Done(other)) = other.unwrap() {
        assert_ne!(other.kind, OutcomeKind::Failed, "{other:?}");
    }
    assert_eq!(tool.runs(), 2);
}

/// Found by `cargo xtask crash`: while a decided call ran, another task that resumed it too was
/// told that it had failed (`store_failed`, "it was not run again"), but the outcome recorded
/// afterwards was a success.
#[tokio::test]
async fn resuming_a_call_that_runs_already_reports_no_failure() {
    let (machine, gated) = (Machine::new(), Gated::new(Effect::SideEffect, Risk::High));
    let engine = machine.process(&[&gated.tool]).await;
    let Answer::Suspended(asked) = answer(&engine, work(1)).await else {
        panic!("nobody was asked")
    };
    let mut running = engine.decide(asked.id, by_ann());
    assert!(poll!(running.as_mut()).is_pending());
    let other = engine.resume(asked.id).await.unwrap();
    gated.open();
    let outcome = done(running.await.unwrap().unwrap());
    assert_eq!(outcome.kind, OutcomeKind::Succeeded);
    assert_eq!(gated.tool.runs(), 1);
    let stored = machine.text_of(outcome.call).await.unwrap();
    assert!(stored.contains("succeeded"), "{stored}");
    if let Some(Answer::Done(other)) = other {
        assert_ne!(other.kind, OutcomeKind::Failed, "{other:?}");
    }
}
