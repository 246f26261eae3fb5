//! Several engines over the same stores simulate several processes: each starts, dies, and finds
//! the work that others left open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tokio::sync::Notify;
use toolcrib_core::{
    Acceptance, AcceptedBatch, Answer, ApproverReply, Batch, BatchId, Call, CallId, CallStore,
    Effect, IdempotencyKey, Invoker as _, Origin, Outcome, Risk, RunId, ToolOutput,
};
use toolcrib_engine::store::{MemoryApprovals, MemoryCalls, MemoryGrants};
use toolcrib_engine::{Engine, EngineBuilder};
use toolcrib_testkit::{FakeClock, ScriptedApprover, ScriptedTool, fixed_source};

use crate::failing_store::FailingCalls;

/// State shared by all processes.
pub(crate) struct Machine {
    pub(crate) calls: Arc<MemoryCalls>,
    pub(crate) approvals: Arc<MemoryApprovals>,
    pub(crate) grants: Arc<MemoryGrants>,
    pub(crate) clock: Arc<FakeClock>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self::with(MemoryCalls::default())
    }

    pub(crate) fn with(calls: MemoryCalls) -> Self {
        Self {
            calls: Arc::new(calls),
            approvals: Arc::default(),
            grants: Arc::default(),
            clock: Arc::new(FakeClock::at(1_000)),
        }
    }

    /// Creates a process with these tools, without an available approver.
    pub(crate) async fn process(&self, tools: &[&Arc<ScriptedTool>]) -> Engine {
        self.over(Arc::clone(&self.calls) as _, tools).await
    }

    /// Creates a process with a separate store that can fail.
    pub(crate) async fn failing(
        &self,
        tools: &[&Arc<ScriptedTool>],
    ) -> (Engine, Arc<FailingCalls>) {
        let store = FailingCalls::over(&self.calls);
        (self.over(Arc::clone(&store) as _, tools).await, store)
    }

    async fn over(&self, calls: Arc<dyn CallStore>, tools: &[&Arc<ScriptedTool>]) -> Engine {
        self.build(Engine::builder().calls(calls), tools).await
    }

    /// Creates a process in this environment.
    pub(crate) async fn process_in(
        &self,
        environment: &str,
        tools: &[&Arc<ScriptedTool>],
    ) -> Engine {
        let builder = Engine::builder().calls(Arc::clone(&self.calls) as _);
        self.build(builder.environment(environment.to_owned()), tools).await
    }

    async fn build(&self, builder: EngineBuilder, tools: &[&Arc<ScriptedTool>]) -> Engine {
        let later = std::iter::repeat_n(ApproverReply::Deferred, 100);
        let engine = builder
            .approvals(Arc::clone(&self.approvals) as _)
            .grants(Arc::clone(&self.grants) as _)
            .clock(Arc::clone(&self.clock) as _)
            .approver(Arc::new(ScriptedApprover::new(later)))
            .build();
        engine.catalog().attach(&fixed_source("test", tools)).await.unwrap();
        engine.claim().await.unwrap();
        engine
    }

    /// Kills the process. Its remaining work in memory reaches no store.
    pub(crate) async fn kill(&self, engine: &Engine) {
        self.calls.release(engine.claim().await.unwrap()).await.unwrap();
    }

    /// The stored outcome of a call, as text.
    pub(crate) async fn text_of(&self, call: CallId) -> Option<String> {
        let stored = self.calls.call(call).await.unwrap()?;
        stored.outcome.map(|outcome| outcome.to_text())
    }
}

/// A tool that takes a number and waits at a gate in its first run.
pub(crate) struct Gated {
    pub(crate) tool: Arc<ScriptedTool>,
    open: Arc<AtomicBool>,
    gate: Arc<Notify>,
}

impl Gated {
    pub(crate) fn new(effect: Effect, risk: Risk) -> Self {
        let (open, gate) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        let (is_open, waits) = (Arc::clone(&open), Arc::clone(&gate));
        let tool = ScriptedTool::new("work")
            .takes(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
            .spec(|s| (s.effect, s.risk) = (effect, risk))
            .does(move |_, args| {
                let (is_open, waits, args) =
                    (Arc::clone(&is_open), Arc::clone(&waits), args.clone());
                Box::pin(async move {
                    if !is_open.load(Ordering::SeqCst) {
                        waits.notified().await;
                    }
                    Ok(ToolOutput::text(format!("did {args}")))
                })
            });
        Self { tool: Arc::new(tool), open, gate }
    }

    pub(crate) fn safe(effect: Effect) -> Self {
        Self::new(effect, Risk::Safe)
    }

    /// Lets all waiting and later callers pass.
    pub(crate) fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
        self.gate.notify_waiters();
    }

    pub(crate) fn opened(self) -> Self {
        self.open();
        self
    }
}

/// A batch of one call of the gated tool.
pub(crate) fn work(n: i64) -> Batch {
    Batch::new(Origin::Model, vec![Call::new("work", json!({"n": n}))])
}

/// Returns the same batch, sent again.
pub(crate) fn again(batch: &Batch) -> Batch {
    Batch { is_replay: true, ..batch.clone() }
}

pub(crate) async fn answer(engine: &Engine, batch: Batch) -> Answer {
    let mut answers = engine.invoke(batch).await;
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

pub(crate) fn done(answer: Answer) -> Outcome {
    match answer {
        Answer::Done(outcome) => *outcome,
        Answer::Suspended(request) => panic!("suspended: {request:?}"),
    }
}

/// Begins a batch in a process, which dies while the tool waits.
pub(crate) async fn dies_while_it_runs(machine: &Machine, engine: &Engine, batch: &Batch) {
    let mut running = engine.invoke(batch.clone());
    assert!(futures_util::poll!(running.as_mut()).is_pending());
    machine.kill(engine).await;
}

/// Found by killing daemons: recovery took over the key of a run that was never started, and no
/// other process could start the run any more.
#[tokio::test]
async fn the_key_of_a_run_that_was_never_started_stays_free() {
    let machine = Machine::new();
    let dead = machine.calls.claim().await.unwrap();
    let key = IdempotencyKey { key: "run:task".into(), fingerprint: "f".into() };
    let run = Batch { run: Some(RunId::fresh()), ..Batch::new(Origin::Rest, Vec::new()) };
    let held = AcceptedBatch {
        id: BatchId::fresh(),
        key: Some(key),
        batch: run,
        accepted_at: 1,
        epoch: dead,
    };
    let first = machine.calls.accept(held.clone()).await.unwrap();
    assert!(matches!(first, Acceptance::New));
    machine.calls.release(dead).await.unwrap();
    let recovering = machine.process(&[]).await;
    assert!(recovering.recover().await.unwrap().batches.is_empty());
    assert!(machine.calls.abandoned_batches().await.unwrap().is_empty());
    let epoch = machine.calls.claim().await.unwrap();
    let again = AcceptedBatch { id: BatchId::fresh(), epoch, ..held.clone() };
    let known = machine.calls.accept(again).await.unwrap();
    assert!(matches!(known, Acceptance::Known { is_owner_alive: false, .. }), "{known:?}");
    assert!(machine.calls.take_batch(held.id, epoch).await.unwrap());
}
