//! Measures the cost of a durable call, and the opening time of a large store:
//! `cargo run --profile bench-fast -p toolcrib-store --example durable_call_costs [calls]`.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "it measures, prints, and ends")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_core::{AuditSigner, AuditStore, CallStore, Effect, Intent, canonical_json};
use toolcrib_store::{SqliteStore, StoreOptions};
use toolcrib_testkit::conformance::{intent, settlement};

/// What a quick call takes beside the store.
const TOOL: Duration = Duration::from_micros(30);

struct Signer;

impl AuditSigner for Signer {
    fn public_key(&self) -> String {
        "aa".into()
    }

    fn sign(&self, bytes: &[u8]) -> String {
        canonical_json::sha256_text(&String::from_utf8_lossy(bytes))
    }
}

/// Prints the median and the 99th percentile.
fn print(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!(
        "{what:<44} p50 {p50:>10.1?}   p99 {p99:>10.1?}   most {:>10.1?}",
        times[times.len() - 1]
    );
}

fn options(folder: &Path, full_commit_delay: Duration) -> StoreOptions {
    StoreOptions {
        signer: Some(Arc::new(Signer)),
        anchors: Some(folder.join("anchors")),
        full_commit_delay,
        ..StoreOptions::default()
    }
}

/// Calls of one after another.
async fn calls(store: SqliteStore, epoch: u64, effect: Effect, count: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let begun: Intent = intent(effect, epoch);
        let end = settlement(begun.facts.clone(), Some(begun.started_at), epoch);
        let start = Instant::now();
        store.begin(begun).await.unwrap();
        let begun = start.elapsed();
        // The tool, and the stages around it.
        let start = Instant::now();
        while start.elapsed() < TOOL {
            std::hint::spin_loop();
        }
        let start = Instant::now();
        store.settle(end).await.unwrap();
        times.push(begun + start.elapsed());
    }
    times
}

async fn measure(what: &str, delay: u64, effect: Effect, in_flight: usize, each: usize) {
    let folder = tempfile::tempdir().unwrap();
    let delay = Duration::from_millis(delay);
    let store =
        SqliteStore::open_with(&folder.path().join("store.db"), options(folder.path(), delay))
            .unwrap();
    let epoch = store.claim().await.unwrap();
    calls(store.clone(), epoch, effect, 20).await;
    let (before, start) = (store.commits(), Instant::now());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..in_flight {
        tasks.spawn(calls(store.clone(), epoch, effect, each));
    }
    let times: Vec<Duration> = tasks.join_all().await.into_iter().flatten().collect();
    let (took, after, count) = (start.elapsed(), store.commits(), times.len() as f64);
    print(what, times);
    println!(
        "{:<44} {:.0} calls/s, {:.3} synced and {:.3} other commits per call",
        "",
        count / took.as_secs_f64(),
        (after.full - before.full) as f64 / count,
        (after.normal - before.normal) as f64 / count,
    );
}

fn main() {
    let count: u64 = std::env::args().nth(1).map_or(1_000_000, |count| count.parse().unwrap());
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let many = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    one.block_on(measure("reads, one at a time, one thread", 0, Effect::Read, 1, 20_000));
    many.block_on(measure("reads, one at a time", 0, Effect::Read, 1, 20_000));
    many.block_on(measure("reads, 16 in flight", 0, Effect::Read, 16, 2_000));
    many.block_on(measure("changes, one at a time, this disk", 0, Effect::SideEffect, 1, 200));
    many.block_on(measure("changes, 64 in flight, this disk", 0, Effect::SideEffect, 64, 200));
    many.block_on(measure(
        "changes, 64 in flight, 7 ms more per sync",
        7,
        Effect::SideEffect,
        64,
        150,
    ));
    if count > 0 {
        one.block_on(large(count));
    }
}

/// A store with so many calls, made by its own SQL.
fn fill(path: &Path, count: u64) {
    drop(SqliteStore::open(path).unwrap());
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN").unwrap();
    let numbers = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
    );
    let id = "'call_' || printf('%032x', i)";
    conn.execute_batch(&format!(
        "{numbers} INSERT INTO calls (id, owner, conversation, agent, workspace, channel, device, topic, origin, tool, operation,
            definition_hash, risk, effect, args, args_hash, received_at, started_at, epoch, outcome, attempts, run_nanos, ended_at,
            output_hash)
        SELECT {id}, '', 'conv_' || (i / 100), 'general', '/srv/project', 'chat', '', '', 'model', 'tool_' || (i % 40), 'read_file',
            hex(randomblob(32)), 'safe', 'read', '{{\"path\":\"a/b/c\"}}', hex(randomblob(32)), i, i, 0, 'succeeded', 1, 1000, i,
            hex(randomblob(32)) FROM n;
        {numbers} INSERT INTO outcomes SELECT i, printf('%.600c', 'x') FROM n;
        {numbers} INSERT INTO audit (seq, chain, call, hash, text) SELECT i, 1, {id}, randomblob(32), printf('%.600c', 'x') FROM n;
        COMMIT"
    ))
    .unwrap();
}

async fn large(count: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fill(&path, count);
    // Something is left behind, too.
    let store = SqliteStore::open(&path).unwrap();
    let lost = store.claim().await.unwrap();
    for effect in [Effect::Read, Effect::SideEffect].into_iter().cycle().take(100) {
        store.begin(intent(effect, lost)).await.unwrap();
    }
    drop(store);
    println!("{count} calls, {} MB", std::fs::metadata(&path).unwrap().len() / 1_000_000);
    for _ in 0..3 {
        let start = Instant::now();
        let store = SqliteStore::open_with(&path, options(folder.path(), Duration::ZERO)).unwrap();
        let opened = start.elapsed();
        let epoch = store.claim().await.unwrap();
        let claimed = start.elapsed();
        let found = store.recover(epoch, 5_000).await.unwrap();
        let recovered = start.elapsed();
        store.begin(intent(Effect::SideEffect, epoch)).await.unwrap();
        println!(
            "open {opened:.1?}, with a claim {claimed:.1?}, {} recovered {recovered:.1?}, first call begun {:.1?}",
            found.unknown.len() + found.interrupted.len(),
            start.elapsed(),
        );
        let start = Instant::now();
        store.checkpoint_now().await.unwrap();
        println!("sign the audit {:.1?}", start.elapsed());
        store.release(epoch).await.unwrap();
    }
}
