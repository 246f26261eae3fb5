//! Measures queries of a large call history:
//! `cargo run --release -p toolcrib-store --example history_costs -- 1000000`.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "it measures, prints, and ends")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use toolcrib_core::{
    CallFilter, CallHistory, CallId, CallStatus, CallStore, Context, ErrorType, OutcomeKind,
    Settlement, ToolError, ToolName, UsageBy, UsageStore,
};
use toolcrib_store::SqliteStore;
use toolcrib_testkit::conformance::{call_facts, end_with, outcome};

const TOOLS: u64 = 40;
const START: i64 = 1_700_000_000_000;
/// Calls of one conversation.
const TALK: u64 = 200;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let calls: u64 = std::env::args().nth(1).map_or(100_000, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    write(&path, calls).await;
    let size = std::fs::metadata(&path).unwrap().len();
    println!("{calls} calls, {} bytes each with their audit", size / calls);
    let start = Instant::now();
    let store = SqliteStore::open(&path).unwrap();
    let epoch = store.claim().await.unwrap();
    store.recover(epoch, START).await.unwrap();
    println!("{:<44} {:>10.1?}", "open, claim, recover", start.elapsed());
    look_back(&store, calls).await;
}

/// One call: of a tool in turn, a hundredth of a second after the one before; every twentieth
/// failed, every ten thousandth is unknown.
fn call(n: u64, epoch: u64) -> Settlement {
    let at = START + i64::try_from(n).unwrap() * 10;
    let mut facts = call_facts("");
    facts.tool = Some(ToolName::local(&format!("tool_{}", n % TOOLS)).unwrap());
    facts.operation = Some(format!("tool_{}.do", n % TOOLS));
    facts.context = Arc::new(Context {
        agent: "general".into(),
        conversation: format!("conv_{:032x}", n / TALK),
        workspace: "/srv/project".into(),
        channel: "chat".into(),
        ..Context::default()
    });
    facts.received_at = at;
    let error = match n {
        n if n % 10_000 == 7 => Some(ErrorType::UnknownOutcome),
        n if n % 20 == 0 => Some(ErrorType::ExecutionError),
        _ => None,
    };
    let result = error.map_or(Ok(json!("done")), |error| Err(ToolError::new(error, "It failed.")));
    let mut end = end_with(facts.clone(), Some(at), epoch, &outcome(&facts, result));
    end.record.end.run_nanos = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 36;
    end.record.end.ended_at = at + 5;
    end
}

async fn write(path: &Path, calls: u64) {
    let store = SqliteStore::open(path).unwrap();
    let epoch = store.claim().await.unwrap();
    let start = Instant::now();
    for from in (0..calls).step_by(1_000) {
        let settled: Vec<_> =
            (from..calls.min(from + 1_000)).map(|n| store.settle(call(n, epoch))).collect();
        for one in settled {
            one.await.unwrap();
        }
    }
    let each = start.elapsed() / u32::try_from(calls).unwrap();
    println!("{:<44} {each:>10.1?}", "write a call, many at once");
}

async fn look_back(store: &SqliteStore, calls: u64) {
    let all = || CallFilter { limit: 50, ..CallFilter::default() };
    let newest = page(store, "the newest 50", all()).await;
    page(store, "the next 50", CallFilter { before: newest, ..all() }).await;
    let end = START + i64::try_from(calls).unwrap() * 10;
    page(store, "of one tool", CallFilter { tool: Some("tool_3".into()), ..all() }).await;
    page(store, "of a tool that was never called", CallFilter { tool: Some("x".into()), ..all() })
        .await;
    let talk = Some(format!("conv_{:032x}", calls / TALK / 2));
    page(store, "of a conversation half way", CallFilter { conversation: talk, ..all() }).await;
    let unknown = Some(CallStatus::Ended(OutcomeKind::Unknown));
    page(store, "unknown outcomes", CallFilter { status: unknown, ..all() }).await;
    page(store, "open calls", CallFilter { status: Some(CallStatus::Open), ..all() }).await;
    page(store, "of the last minute", CallFilter { since: Some(end - 60_000), ..all() }).await;
    let day = CallFilter { since: Some(end - 600_000), tool: Some("x".into()), ..all() };
    page(store, "of the last ten minutes, none fits", day).await;
    page(
        store,
        "of the time before the first half",
        CallFilter { until: Some(START + i64::try_from(calls).unwrap() * 5), ..all() },
    )
    .await;
    for (what, since) in [("last minute", Some(end - 60_000)), ("whole time", None)] {
        time(&format!("metrics of the {what}"), async || {
            store.metrics("", since).await.unwrap();
        })
        .await;
        time(&format!("usage by tool of the {what}"), async || {
            store.usage("", UsageBy::Tool, since).await.unwrap();
        })
        .await;
    }
}

async fn page(store: &SqliteStore, what: &str, filter: CallFilter) -> Option<CallId> {
    let mut last = None;
    let what = format!("page: {what}");
    time(&what, async || {
        let found = store.calls(filter.clone()).await.unwrap();
        last = found.last().map(|row| row.facts.call);
    })
    .await;
    last
}

/// The best and the worst of five.
async fn time(what: &str, mut work: impl AsyncFnMut()) {
    let mut times = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        work().await;
        times.push(start.elapsed());
    }
    times.sort();
    println!("{what:<44} {:>10.1?} to {:>10.1?}", times[0], times[4]);
}
