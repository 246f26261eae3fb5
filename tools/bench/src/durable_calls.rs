//! Cost of durability: a call whose intent, outcome and audit record are in the database, compared
//! with the same call in memory; and group commit on a slow disk.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_audit::{AuditKey, ChainReport, Evidence, PUBLIC_KEY_FILE, TrustedKeys, verify};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{
    Batch, Call, CallCtx, CallStore as _, Effect, Entry, Invoker as _, Origin, Risk, Tool,
    ToolError, ToolName, ToolOutput, ToolSpec, Trust, TypedHandler, schema,
};
use toolcrib_engine::Engine;
use toolcrib_engine::store::MemoryCalls;
use toolcrib_store::{SqliteStore, StoreOptions};

use crate::results::Results;

/// Calls one at a time.
const ALONE: usize = 4_000;
/// Calls with others beside them.
const TOGETHER: usize = 16_000;
/// Calls on the slow disk.
const SLOW: usize = 6_400;
/// What the slow disk takes for each commit that has to survive a power cut (issue: 7 ms).
const SLOW_DISK: Duration = Duration::from_millis(7);
/// Calls that are stored when the start is measured.
const STORED: u64 = 1_000_000;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Args {
    /// Any number.
    n: u64,
}

/// Does nothing, with this effect.
struct Touch(Effect);

impl Tool for Touch {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        let name = if self.0.is_repeatable() { "look" } else { "touch" };
        let name = ToolName::local(name).expect("a tool name");
        let mut spec = ToolSpec::new(name, "Does nothing.", schema::for_type::<Args>());
        (spec.risk, spec.effect, spec.trust) = (Risk::Safe, self.0, Trust::Tool);
        spec
    }

    async fn call(&self, _: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(args.n.to_string()))
    }
}

pub(crate) fn run(table: &mut Results) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(alone(table));
    runtime.block_on(together(table));
    runtime.block_on(slow_disk(table));
    runtime.block_on(many_stored(table));
}

async fn with_tools(builder: toolcrib_engine::EngineBuilder) -> Engine {
    let engine = builder.build();
    let tools =
        [Effect::Pure, Effect::SideEffect].map(|e| Entry::Local(TypedHandler::handler(Touch(e))));
    let source = FixedSource::new("bench", tools.to_vec());
    engine.catalog().attach(&source).await.expect("a source that loads");
    engine
}

/// A store as the binary opens it: with a key, and the anchors beside.
fn store(folder: &Path, slow: Option<Duration>) -> Arc<SqliteStore> {
    let key = AuditKey::open(&folder.join("audit")).expect("a key");
    let options = StoreOptions {
        signer: Some(Arc::new(key)),
        anchors: Some(folder.join("audit").join("anchors.jsonl")),
        full_commit_delay: slow.unwrap_or_default(),
        ..StoreOptions::default()
    };
    Arc::new(SqliteStore::open_with(&folder.join("bench.db"), options).expect("a store"))
}

fn audit_keys(folder: &Path) -> TrustedKeys {
    let text = std::fs::read_to_string(folder.join("audit").join(PUBLIC_KEY_FILE));
    TrustedKeys::parse(&text.expect("a public key")).expect("a public key")
}

async fn durable(store: &Arc<SqliteStore>) -> Engine {
    with_tools(Engine::builder().calls(Arc::clone(store) as _).approvals(Arc::clone(store) as _))
        .await
}

async fn once(engine: &Engine, tool: &str, n: usize) -> Duration {
    let batch = Batch::new(Origin::Model, vec![Call::new(tool, json!({"n": n}))]);
    let begun = Instant::now();
    let answers = engine.invoke(batch).await;
    let taken = begun.elapsed();
    assert!(answers[0].outcome().is_some_and(|outcome| outcome.result.is_ok()), "{answers:?}");
    taken
}

fn percentile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    let at = (times.len() * percent / 100).min(times.len() - 1);
    times[at].as_secs_f64() * 1000.0
}

async fn times(engine: Engine, tool: &'static str, calls: usize) -> Vec<Duration> {
    let task = tokio::spawn(async move {
        for n in 0..100 {
            once(&engine, tool, n).await;
        }
        let mut times = Vec::with_capacity(calls);
        for n in 0..calls {
            times.push(once(&engine, tool, n).await);
        }
        times
    });
    task.await.expect("a worker")
}

async fn alone(table: &mut Results) {
    let memory = with_tools(Engine::builder().calls(Arc::new(MemoryCalls::light()))).await;
    let floor = percentile(&mut times(memory, "look", ALONE).await, 50);
    table.figure("durable: floor, one call through the pipeline in memory, p50", floor, "ms");
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(folder.path(), None);
    let mut taken = times(durable(&store).await, "look", ALONE).await;
    let over = percentile(&mut taken, 50) - floor;
    table.at_most("durable: one kill-safe call at a time, p50 over the floor", over, "ms", 0.1);
    let p99 = percentile(&mut taken, 99);
    table.at_most("durable: one kill-safe call at a time, p99", p99, "ms", 1.0);
    let mut taken = times(durable(&store).await, "touch", 300).await;
    let p50 = percentile(&mut taken, 50);
    table.figure("durable: one power-safe call at a time (this disk), p50", p50, "ms");
}

/// Wall time and the time of each call, `width` at once.
async fn crowd(
    engine: Engine,
    tool: &'static str,
    width: usize,
    calls: usize,
) -> (Duration, Vec<Duration>) {
    let begun = Instant::now();
    let lanes = (0..width).map(|lane| {
        let engine = engine.clone();
        tokio::spawn(async move {
            let mut times = Vec::with_capacity(calls / width);
            for n in 0..calls / width {
                times.push(once(&engine, tool, lane + n * width).await);
            }
            times
        })
    });
    let mut all = Vec::with_capacity(calls);
    for lane in lanes.collect::<Vec<_>>() {
        all.extend(lane.await.expect("a lane"));
    }
    (begun.elapsed(), all)
}

async fn together(table: &mut Results) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(folder.path(), None);
    let (wall, mut taken) = crowd(durable(&store).await, "look", 16, TOGETHER).await;
    let p99 = percentile(&mut taken, 99);
    table.at_most("durable: 16 kill-safe calls in flight, p99", p99, "ms", 10.0);
    let rate = TOGETHER as f64 / wall.as_secs_f64();
    table.figure("durable: 16 kill-safe calls in flight, calls a second", rate, "/s");
}

async fn slow_disk(table: &mut Results) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(folder.path(), Some(SLOW_DISK));
    let before = store.commits().full;
    let (wall, _) = crowd(durable(&store).await, "touch", 64, SLOW).await;
    let rate = SLOW as f64 / wall.as_secs_f64();
    table.at_least("durable: 64 side effects in flight, 7 ms a FULL commit", rate, "/s", 1_500.0);
    let commits = (store.commits().full - before) as f64 / SLOW as f64;
    table.figure("durable: the same, FULL commits per call", commits, "");
}

async fn many_stored(table: &mut Results) {
    let folder = tempfile::tempdir().expect("a folder");
    {
        let store = store(folder.path(), None);
        let engine = durable(&store).await;
        // A width that divides the number.
        crowd(engine, "look", 250, STORED as usize).await;
    }
    let begun = Instant::now();
    let store = store(folder.path(), None);
    let epoch = store.claim().await.expect("a claim");
    store.recover(epoch, 0).await.expect("nothing to recover");
    let ready = begun.elapsed().as_secs_f64() * 1000.0;
    table.at_most("durable: ready with 1,000,000 stored calls", ready, "ms", 1_000.0);
    let begun = Instant::now();
    let evidence = Evidence { keys: audit_keys(folder.path()), ..Evidence::default() };
    let reports = verify(&*store, &evidence).await.expect("an audit that can be read");
    let records: u64 = reports.iter().map(|report| report.records).sum();
    let rate = records as f64 / begun.elapsed().as_secs_f64();
    assert!(records >= STORED && reports.iter().all(ChainReport::is_sound), "{reports:?}");
    table.at_least("durable: audit verify, records a second", rate, "/s", 50_000.0);
}
