//! A call that goes on in one task is not answered for by another.

use std::sync::Arc;

use futures_util::poll;
use toolcrib_core::hook::{GuardVerdict, Guarded};
use toolcrib_core::{
    Answer, ApprovalStore as _, Asked, BoxFuture, Decision, DecisionRecord, Effect, Guard,
    Invoker as _, OutcomeKind, Risk,
};
use toolcrib_engine::Engine;
use toolcrib_testkit::{ScriptedApprover, source_of};

use crate::processes::{Gated, Machine, answer, done, work};

fn by_ann() -> DecisionRecord {
    let decision = Decision::approve();
    DecisionRecord { decision, decided_by: "ann".into(), decided_at: 2_000 }
}

/// Lets others go on in between.
struct Yields;

impl Guard for Yields {
    fn name(&self) -> &str {
        "yields"
    }

    fn check<'a>(&'a self, _: &'a Guarded<'a>) -> BoxFuture<'a, Result<GuardVerdict, String>> {
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(GuardVerdict::Continue)
        })
    }
}

/// Found by `cargo xtask crash`: the same where both begin before either has recorded that it starts.
#[tokio::test]
async fn two_that_go_on_with_one_call_at_once_give_one_outcome() {
    let (machine, gated) = (Machine::new(), Gated::new(Effect::SideEffect, Risk::High).opened());
    let engine = Engine::builder()
        .calls(Arc::clone(&machine.calls) as _)
        .approvals(Arc::clone(&machine.approvals) as _)
        .approver(Arc::new(ScriptedApprover::new([Asked::Later])))
        .guard(Arc::new(Yields))
        .build();
    engine.catalog().attach(&source_of("test", &[&gated.tool])).await.unwrap();
    let Answer::Suspended(asked) = answer(&engine, work(1)).await else {
        panic!("nobody was asked")
    };
    machine.approvals.decide(asked.id, by_ann()).await.unwrap().unwrap();
    let (one, other) = futures_util::join!(engine.go_on(asked.id), engine.go_on(asked.id));
    assert_eq!(gated.tool.runs(), 1);
    for answer in [one.unwrap(), other.unwrap()].into_iter().flatten() {
        let outcome = done(answer);
        assert_ne!(outcome.kind, OutcomeKind::Failed, "{outcome:?}");
    }
}

/// Found by `cargo xtask crash`: while a call ran that somebody had decided about, whoever went on with it too was told that it had failed
/// (`store_failed`, "it was not run again"), and the outcome that was recorded then was another one: it had succeeded.
#[tokio::test]
async fn whoever_goes_on_with_a_call_that_goes_on_already_is_not_told_that_it_failed() {
    let (machine, gated) = (Machine::new(), Gated::new(Effect::SideEffect, Risk::High));
    let engine = machine.process(&[&gated.tool]).await;
    let Answer::Suspended(asked) = answer(&engine, work(1)).await else {
        panic!("nobody was asked")
    };
    let mut running = engine.decide(asked.id, by_ann());
    assert!(poll!(running.as_mut()).is_pending());
    let other = engine.go_on(asked.id).await.unwrap();
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
