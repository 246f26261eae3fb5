//! Test helpers: an engine with `tool_chain` and some tools.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_code_mode::source;
use toolcrib_core::{
    Answer, ApproverReply, Batch, Block, Call, CallStore, Effect, Invoker as _, ModelResult,
    Origin, Outcome, Reach, Risk, RunId, RunSpec, Source as _, ToolOutput, Trust,
};
use toolcrib_engine::store::{MemoryApprovals, MemoryArtifacts, MemoryCalls};
use toolcrib_engine::{Engine, EngineBuilder};
use toolcrib_testkit::{ScriptedApprover, ScriptedTool, fixed_source};

use crate::support::World;

/// The stores that several processes share.
pub(crate) struct Place {
    pub(crate) world: World,
    pub(crate) calls: Arc<MemoryCalls>,
    pub(crate) approvals: Arc<MemoryApprovals>,
    pub(crate) artifacts: Arc<MemoryArtifacts>,
}

/// An engine in one process.
pub(crate) struct Process {
    pub(crate) engine: Engine,
    pub(crate) run: RunId,
}

fn number() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer", "description": "a number"}, "unit": {"type": "string", "enum": ["m", "km"]}}, "required": ["n"]})
}

/// Returns a tool that returns its number.
pub(crate) fn echo(name: &str) -> ScriptedTool {
    let answer = |args: &Value| {
        let n = args["n"].clone();
        ToolOutput::text(format!("n is {n}")).with_structured(json!({"n": n}))
    };
    ScriptedTool::new(name)
        .takes(number())
        .does(move |_, args| Box::pin(std::future::ready(Ok(answer(args)))))
}

/// Returns the same tool, but with a side effect and an approval.
pub(crate) fn risky(name: &str) -> ScriptedTool {
    echo(name).spec(|spec| {
        (spec.risk, spec.effect) = (Risk::High, Effect::SideEffect);
        spec.reach = Reach { outbound: true, ..Reach::default() };
    })
}

pub(crate) fn long(name: &str, text: &str) -> ScriptedTool {
    let output = ToolOutput::text(text).with_origin(Trust::External, "somewhere");
    ScriptedTool::new(name).returns(output)
}

impl Place {
    pub(crate) async fn new() -> Self {
        Self {
            world: World::new().await,
            calls: Arc::default(),
            approvals: Arc::default(),
            artifacts: Arc::default(),
        }
    }

    /// Creates a process whose approver gives these answers, and after that "later"; its run
    /// continues under `run`.
    pub(crate) async fn process(
        &self,
        tools: &[&Arc<ScriptedTool>],
        asked: Vec<ApproverReply>,
        run: Option<RunId>,
    ) -> Process {
        let answers = asked.into_iter().chain(std::iter::repeat_n(ApproverReply::Deferred, 100));
        let builder = Engine::builder().approver(Arc::new(ScriptedApprover::new(answers)));
        self.built(builder, tools, run).await
    }

    pub(crate) async fn built(
        &self,
        builder: EngineBuilder,
        tools: &[&Arc<ScriptedTool>],
        run: Option<RunId>,
    ) -> Process {
        let engine = builder
            .calls(Arc::clone(&self.calls) as _)
            .approvals(Arc::clone(&self.approvals) as _)
            .artifacts(Arc::clone(&self.artifacts) as _)
            .build();
        engine.catalog().attach(&fixed_source("test", tools)).await.unwrap();
        let chain = source(self.world.setup.clone());
        assert_eq!(chain.id(), "python");
        engine.catalog().attach(&chain).await.unwrap();
        engine.claim().await.unwrap();
        let run = engine.open_run(RunSpec { id: run, ..RunSpec::default() }).unwrap();
        Process { engine, run }
    }

    /// Kills the process. Its further work in memory reaches no store.
    pub(crate) async fn kill(&self, process: Process) {
        let epoch = process.engine.claim().await.unwrap();
        self.calls.release(epoch).await.unwrap();
    }
}

impl Process {
    pub(crate) fn batch(&self, code: &str) -> Batch {
        self.batch_of(json!({"code": code}))
    }

    pub(crate) fn batch_of(&self, args: Value) -> Batch {
        let calls = vec![Call::new("tool_chain", args)];
        Batch { run: Some(self.run), ..Batch::new(Origin::Model, calls) }
    }

    pub(crate) async fn answer(&self, batch: Batch) -> Answer {
        self.engine.invoke(batch).await.pop().unwrap()
    }

    /// Returns the result of a script.
    pub(crate) async fn script(&self, code: &str) -> Gave {
        Gave::of(self.answer(self.batch(code)).await)
    }
}

/// The result of a script.
#[derive(Debug)]
pub(crate) struct Gave(pub(crate) Box<Outcome>);

impl Gave {
    pub(crate) fn of(answer: Answer) -> Self {
        match answer {
            Answer::Done(outcome) => Self(outcome),
            Answer::Suspended(request) => panic!("suspended: {request:?}"),
        }
    }

    pub(crate) fn result(&self) -> &ModelResult {
        self.0.result.as_ref().unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn text(&self) -> &str {
        self.result().result.as_str().unwrap()
    }

    pub(crate) fn data(&self, pointer: &str) -> Value {
        let data = self.result().structured.as_ref().unwrap();
        data.pointer(pointer).cloned().unwrap_or_default()
    }

    pub(crate) fn value(&self) -> Value {
        assert_eq!(self.data("/status"), "ok", "{}", self.text());
        self.data("/value")
    }

    /// Tool and status of each call.
    pub(crate) fn trace(&self) -> Vec<String> {
        let lines = self.data("/call_trace");
        let said = |line: &Value| {
            let words = |key: &str| line[key].as_str().unwrap().to_owned();
            assert_eq!(words("args_digest").len(), 16);
            assert!(line["duration_ms"].is_number());
            format!("{} {}", words("tool"), words("status"))
        };
        lines.as_array().unwrap().iter().map(said).collect()
    }

    pub(crate) fn media(&self) -> usize {
        self.result().media.iter().filter(|block| matches!(block, Block::Image(_))).count()
    }
}
