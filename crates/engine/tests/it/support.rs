//! Shared by the tests: an engine with scripted tools, and one call through it.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{
    Answer, Batch, Call, ErrorType, Invoker as _, Origin, Outcome, OutcomeKind, RunId,
};
use toolcrib_engine::{Engine, EngineBuilder};
use toolcrib_testkit::{ScriptedTool, fixed_source};

/// An engine with these tools.
pub(crate) async fn engine(builder: EngineBuilder, tools: &[&Arc<ScriptedTool>]) -> Engine {
    let engine = builder.build();
    engine.catalog().attach(&fixed_source("test", tools)).await.unwrap();
    engine
}

/// A default engine with this one tool.
pub(crate) async fn with(tool: ScriptedTool) -> (Engine, Arc<ScriptedTool>) {
    let tool = Arc::new(tool);
    (engine(Engine::builder(), &[&tool]).await, tool)
}

/// One call outside a run.
pub(crate) async fn call(engine: &Engine, name: &str, args: Value) -> Outcome {
    one(engine, Batch::new(Origin::Model, vec![Call::new(name, args)])).await
}

/// One call in a run.
pub(crate) async fn call_in(engine: &Engine, run: RunId, name: &str, args: Value) -> Outcome {
    let mut batch = Batch::new(Origin::Model, vec![Call::new(name, args)]);
    batch.run = Some(run);
    one(engine, batch).await
}

/// The outcome of a batch of one.
pub(crate) async fn one(engine: &Engine, batch: Batch) -> Outcome {
    let mut answers = engine.invoke(batch).await;
    assert_eq!(answers.len(), 1);
    match answers.pop().unwrap() {
        Answer::Done(outcome) => *outcome,
        Answer::Suspended(request) => panic!("suspended: {request:?}"),
    }
}

/// Its result as text.
pub(crate) fn text(outcome: &Outcome) -> &str {
    match &outcome.result {
        Ok(result) => result.result.as_str().unwrap(),
        Err(error) => panic!("{error}"),
    }
}

/// Its failure.
pub(crate) fn failure(outcome: &Outcome) -> (OutcomeKind, ErrorType, &str) {
    match &outcome.result {
        Ok(result) => panic!("succeeded with {result:?}"),
        Err(error) => (outcome.kind, error.error_type, &error.message),
    }
}
