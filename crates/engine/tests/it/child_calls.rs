//! Child calls, which their parent waits for without being suspended.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{
    Answer, ApprovalRequest, ApproverReply, Batch, BoxFuture, Call, CallCtx, CallStore as _,
    ChildCallSpec, ChildInvoker, Decision, DecisionRecord, Effect, Entry, Handler, Invoker as _,
    Origin, OutcomeKind, ParentHandler, ParentOutcome, Risk, ToolError, ToolName, ToolOutput,
    ToolSpec,
};
use toolcrib_engine::Engine;
use toolcrib_engine::store::{MemoryApprovals, MemoryCalls};
use toolcrib_testkit::{ScriptedApprover, ScriptedTool, fixed_source};

/// Calls `risky`, and waits this long for the decision about it.
struct Waits {
    spec: Arc<ToolSpec>,
    at_most: Duration,
}

impl Waits {
    fn new(at_most: Duration) -> Self {
        let name = ToolName::local("waits").unwrap();
        let schema = json!({"type": "object", "properties": {}});
        let mut spec = ToolSpec::new(name, "Calls another tool.", schema);
        (spec.risk, spec.effect) = (Risk::Safe, Effect::Pure);
        Self { spec: Arc::new(spec), at_most }
    }
}

impl Handler for Waits {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn parent_handler(&self) -> Option<&dyn ParentHandler> {
        Some(self)
    }

    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Err(ToolError::execution("it makes calls")) })
    }
}

impl ParentHandler for Waits {
    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        _: &'a Value,
        children: &'a dyn ChildInvoker,
    ) -> BoxFuture<'a, Result<ParentOutcome, ToolError>> {
        Box::pin(async move {
            let call = Call::new("risky", json!({}));
            let turn = ChildCallSpec { limit: Duration::from_secs(9), number: 1, max_calls: 1 };
            let Answer::Suspended(request) = children.invoke(call.clone(), turn).await else {
                return Err(ToolError::execution("nobody was asked"));
            };
            let decided = children.resume_when_decided(call, turn, &request, self.at_most).await;
            let said = if decided.is_none() { "nobody decided" } else { "decided" };
            Ok(ParentOutcome::Done(ToolOutput::text(said)))
        })
    }
}

struct Scene {
    engine: Engine,
    calls: Arc<MemoryCalls>,
    risky: Arc<ScriptedTool>,
}

impl Scene {
    async fn new(at_most: Duration) -> Self {
        let (calls, approvals) = (Arc::<MemoryCalls>::default(), Arc::<MemoryApprovals>::default());
        let engine = Engine::builder()
            .approver(Arc::new(ScriptedApprover::new([ApproverReply::Deferred])))
            .calls(Arc::clone(&calls) as _)
            .approvals(approvals as _)
            .build();
        let risky = Arc::new(ScriptedTool::new("risky").spec(|spec| spec.risk = Risk::High));
        engine.catalog().attach(&fixed_source("test", &[&risky])).await.unwrap();
        let waits = Entry::Local(Arc::new(Waits::new(at_most)) as _);
        engine.catalog().attach(&FixedSource::new("waits", vec![waits])).await.unwrap();
        Self { engine, calls, risky }
    }

    fn batch() -> Batch {
        Batch::new(Origin::Model, vec![Call::new("waits", json!({}))])
    }

    /// Returns the open question.
    async fn question(&self) -> ApprovalRequest {
        loop {
            if let Some(request) = self.engine.approvals().pending().await.unwrap().pop() {
                return request;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Returns whether the child has its outcome and can no longer be approved.
    async fn is_over(&self, request: &ApprovalRequest) {
        let end = loop {
            let stored = self.calls.call(request.call).await.unwrap();
            if let Some(end) = stored.and_then(|stored| stored.row.end) {
                break end;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(end.outcome, OutcomeKind::Expired);
        assert!(self.engine.approvals().pending().await.unwrap().is_empty());
        let yes = DecisionRecord {
            decision: Decision::approve(),
            decided_by: "ann".into(),
            decided_at: 0,
        };
        assert!(self.engine.decide(request.id, yes).await.is_err());
        assert_eq!(self.risky.runs(), 0);
    }
}

/// Regression: the question stayed open forever, and a later approval ran the call.
#[tokio::test]
async fn an_undecided_question_is_closed_in_time_and_its_call_has_its_outcome() {
    let scene = Scene::new(Duration::ZERO).await;
    let answer = scene.engine.invoke(Scene::batch()).await.pop().unwrap();
    let Answer::Done(outcome) = answer else { panic!("it does not wait") };
    assert!(format!("{:?}", outcome.result).contains("nobody decided"), "{outcome:?}");
    let (asked, _) = scene.engine.approvals().list("", 9).await.unwrap().pop().unwrap();
    scene.is_over(&asked.request).await;
}

#[tokio::test]
async fn a_script_that_is_dropped_while_it_waits_closes_its_question() {
    let scene = Scene::new(Duration::from_secs(3600)).await;
    let engine = scene.engine.clone();
    let work = tokio::spawn(async move { engine.invoke(Scene::batch()).await });
    let request = scene.question().await;
    // The call waits now, or has just asked: drop both.
    tokio::time::sleep(Duration::from_millis(5)).await;
    work.abort();
    scene.is_over(&request).await;
}

#[tokio::test]
async fn a_script_that_is_stopped_while_it_waits_closes_its_question() {
    let scene = Scene::new(Duration::from_secs(3600)).await;
    let engine = scene.engine.clone();
    let work = tokio::spawn(async move { engine.invoke(Scene::batch()).await });
    let request = scene.question().await;
    while scene.engine.cancel_all(|_| true).is_empty() {
        tokio::task::yield_now().await;
    }
    scene.is_over(&request).await;
    work.await.unwrap();
}
