//! Stored calls run only in their environment: in the same workspace, under the same policy and
//! with the same tools.

use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    AcceptedBatch, Answer, ApprovalRequest, ApprovalStore as _, Batch, BatchId, CallStore as _,
    Decision, DecisionRecord, Effect, Invoker as _, Risk,
};
use toolcrib_engine::{Engine, SubmitError};

use crate::multi_process::{Gated, Machine, done, work};
use crate::support::text;

fn yes() -> DecisionRecord {
    DecisionRecord { decision: Decision::approve(), decided_by: "ann".into(), decided_at: 0 }
}

/// A call that waits for a decision.
async fn asked(engine: &Engine) -> ApprovalRequest {
    match engine.invoke(work(1)).await.remove(0) {
        Answer::Suspended(request) => *request,
        Answer::Done(outcome) => panic!("{outcome:?}"),
    }
}

/// Found in review: sixty accepted writes ran in the workspace of the daemon that recovered them.
#[tokio::test]
async fn an_accepted_batch_is_recovered_in_its_own_environment_only() {
    let (machine, gated) = (Machine::new(), Gated::safe(Effect::SideEffect).opened());
    let first = machine.process_in("a", &[&gated.tool]).await;
    first.submit(work(1), Some("k")).await.unwrap();
    // The process died before the call started.
    machine.kill(&first).await;
    let other = machine.process_in("b", &[&gated.tool]).await;
    assert!(other.recover().await.unwrap().batches.is_empty());
    let elsewhere = other.invoke_once(work(1), "k").await.unwrap_err();
    assert_eq!(elsewhere, SubmitError::OtherEnvironment("k".into()));
    assert!(elsewhere.to_string().contains("another workspace"), "{elsewhere}");
    let again = machine.process_in("a", &[&gated.tool]).await;
    let batch = again.recover().await.unwrap().batches.remove(0);
    let outcome = done(again.finish(batch).await.remove(0));
    assert_eq!((text(&outcome), gated.tool.runs()), (r#"did {"n":1}"#, 1));
}

/// A batch that still reaches a process of another environment is left unchanged.
#[tokio::test]
async fn a_batch_of_another_environment_is_not_finished() {
    let (machine, gated) = (Machine::new(), Gated::safe(Effect::SideEffect).opened());
    let engine = machine.process_in("b", &[&gated.tool]).await;
    let batch = Batch { environment: "a".into(), ..work(1) };
    let epoch = engine.claim().await.unwrap();
    let accepted = AcceptedBatch { id: BatchId::fresh(), key: None, batch, accepted_at: 1, epoch };
    machine.calls.accept(accepted.clone()).await.unwrap();
    let call = accepted.batch.calls[0].id;
    let answer = engine.finish(accepted).await.remove(0);
    assert!(answer.outcome().unwrap().result.is_err(), "{answer:?}");
    assert!(machine.calls.batch_of(call).await.unwrap().is_some(), "it is still open");
    assert_eq!(gated.tool.runs(), 0);
}

/// Found in review: a daemon of another workspace ran an approved `delete_file`.
#[tokio::test]
async fn a_decision_is_left_to_a_process_of_the_environment_that_asked() {
    let machine = Machine::new();
    let gated = Gated::new(Effect::SideEffect, Risk::High).opened();
    let first = machine.process_in("a", &[&gated.tool]).await;
    let request = asked(&first).await;
    machine.kill(&first).await;
    let other = machine.process_in("b", &[&gated.tool]).await;
    let refused = other.decide(request.id, yes()).await;
    assert!(matches!(refused, Err(DecideError::OtherEnvironment(_))), "{refused:?}");
    let (_, decided) = machine.approvals.get(request.id).await.unwrap().unwrap();
    assert_eq!((decided, gated.tool.runs()), (None, 0), "nothing was used up");
    let again = machine.process_in("a", &[&gated.tool]).await;
    let answer = again.decide(request.id, yes()).await.unwrap().unwrap();
    assert_eq!((text(&done(answer)), gated.tool.runs()), (r#"did {"n":1}"#, 1));
}

/// Found in review: a daemon without the tool used the approval up (`tool_not_found`).
#[tokio::test]
async fn an_approval_is_not_used_up_by_a_process_without_the_tool() {
    let machine = Machine::new();
    let gated = Gated::new(Effect::SideEffect, Risk::High).opened();
    let first = machine.process_in("a", &[&gated.tool]).await;
    let request = asked(&first).await;
    machine.kill(&first).await;
    let without = machine.process_in("a", &[]).await;
    let refused = without.decide(request.id, yes()).await.unwrap_err().to_string();
    assert!(refused.contains("the tool work is not available"), "{refused}");
    // A decision that was stored elsewhere is left too.
    let stored = machine.approvals.decide(request.id, yes()).await.unwrap();
    assert_eq!(stored, Ok(()));
    let refused = without.resume(request.id).await;
    assert!(matches!(refused, Err(DecideError::OtherEnvironment(_))), "{refused:?}");
    assert!(machine.calls.call(request.call).await.unwrap().is_none(), "it has no outcome yet");
    let again = machine.process_in("a", &[&gated.tool]).await;
    let answer = again.resume(request.id).await.unwrap().unwrap();
    assert_eq!((text(&done(answer)), gated.tool.runs()), (r#"did {"n":1}"#, 1));
}
