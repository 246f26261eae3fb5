//! Cost of the whole pipeline for one validated call of a trivial tool, compared with the floor:
//! serde decode, schema check, direct call of the same function.

use std::hint::black_box;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_core::{
    Batch, Call, CallCtx, Effect, Invoker as _, Origin, RawArgs, Risk, RunSpec, Tool, ToolError,
    ToolName, ToolOutput, ToolSpec, Trust, TypedHandler, entry::FixedSource, schema,
};
use toolcrib_core::{Entry, RunLimits};
use toolcrib_engine::Engine;
use toolcrib_engine::rules::RuleSet;

use crate::results::Results;
use crate::timing::{cpu, cpu_nanos};

/// Arguments of the size and kinds that models send: a text, a number, a choice, a switch.
#[derive(Deserialize, JsonSchema)]
struct Lookup {
    /// What to look for.
    query: String,
    /// How many results at most.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
    /// In which order.
    order: Option<Order>,
    /// Whether case matters.
    exact: Option<bool>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, Debug)]
#[serde(rename_all = "snake_case")]
enum Order {
    Newest,
    Oldest,
}

struct Find;

/// Trivial work: it touches every argument and makes one short text.
fn find(args: &Lookup) -> String {
    let order = args.order.map_or(0, |order| order as usize);
    let found = args.query.len() + order + usize::from(args.exact == Some(true));
    found.min(args.limit.map_or(10, |limit| limit as usize)).to_string()
}

impl Tool for Find {
    type Args = Lookup;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        let name = ToolName::local("find").expect("a tool name");
        let mut spec = ToolSpec::new(name, "Looks something up.", schema::for_type::<Lookup>());
        (spec.risk, spec.effect, spec.trust) = (Risk::Safe, Effect::Pure, Trust::Tool);
        spec
    }

    async fn call(&self, _: &CallCtx, args: Lookup) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(find(&args)))
    }
}

const ARGS: &str =
    r#"{"query": "open invoices of last month", "limit": 20, "order": "newest", "exact": false}"#;
const TIMES: u32 = 20_000;

pub(crate) async fn engine() -> Engine {
    engine_with(RuleSet::default()).await
}

pub(crate) async fn engine_with(rules: RuleSet) -> Engine {
    let engine = Engine::builder().rules(rules).build();
    let source = FixedSource::new("bench", vec![Entry::Local(TypedHandler::handler(Find))]);
    engine.catalog().attach(&source).await.expect("a source that loads");
    engine
}

pub(crate) fn run(table: &mut Results) {
    let floor = floor();
    table.figure(
        "pipeline: floor (serde decode + schema check + direct call)",
        floor / 1000.0,
        "us",
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    for (what, in_run) in [("outside a run", false), ("in a run with budgets", true)] {
        let nanos = runtime.block_on(async move {
            let engine = engine().await;
            tokio::spawn(async move { time_call(&engine, in_run).await }).await.expect("a worker")
        });
        let overhead = nanos - floor;
        table.at_most(
            format!("pipeline: one call {what}, overhead over the floor"),
            overhead / 1000.0,
            "us",
            4.0,
        );
        table.at_most(
            format!("pipeline: one call {what}, against the floor"),
            nanos / floor,
            "x",
            5.0,
        );
    }
}

fn floor() -> f64 {
    let schema = schema::for_type::<Lookup>();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    cpu_nanos(9, TIMES, || {
        let value: Value = serde_json::from_str(black_box(ARGS)).expect("JSON");
        assert!(validator.is_valid(&value));
        let args = Lookup::deserialize(&value).expect("arguments");
        black_box(find(&args));
    })
}

/// CPU nanoseconds of one call on a runtime worker.
pub(crate) async fn time_call(engine: &Engine, in_run: bool) -> f64 {
    let view = Arc::default();
    let context = Arc::default();
    let limits = RunLimits { calls: None, ..RunLimits::default() };
    let texts: Vec<String> = (1..=900).map(|n| ARGS.replace("20", &n.to_string())).collect();
    let mut samples = Vec::new();
    for round in 0..10 {
        let run = in_run
            .then(|| engine.open_run(RunSpec { limits, ..RunSpec::default() }).expect("a run"));
        let begun = cpu();
        for n in 0..TIMES as usize {
            // In a run no two batches in a row may be equal, or the repeat guard steps in.
            let args = texts[n % texts.len()].clone();
            let batch = Batch {
                is_replay: false,
                environment: String::new(),
                parent_call: None,
                run,
                origin: Origin::Model,
                context: Arc::clone(&context),
                view: Arc::clone(&view),
                calls: vec![Call::new("find", RawArgs::Text(args))],
            };
            let answers = engine.invoke(batch).await;
            assert!(answers[0].outcome().is_some_and(|o| o.result.is_ok()));
            black_box(answers);
        }
        if round > 0 {
            samples.push((cpu() - begun).as_nanos() as f64 / f64::from(TIMES));
        }
        run.map(|run| engine.close_run(run));
    }
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
