//! Measures the store:
//! `cargo run --release -p toolcrib-store --example store_costs`.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "it measures, prints, and ends")]

use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_core::{
    ApprovalStore, ConversationAndRunStore, ConversationStore, Decision, DecisionRecord,
    KeyValueStore, RunStatus,
};
use toolcrib_store::SqliteStore;
use toolcrib_testkit::conformance::{conversation, message, question, run};

/// Prints the median and the 99th percentile.
fn print(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("{what:<42} p50 {p50:>10.1?}   p99 {p99:>10.1?}");
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    opening().await;
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("store.db")).unwrap();
    checkpoints(&store).await;
    questions(&store).await;
}

async fn opening() {
    let [mut made, mut opened, mut read, mut closed] = [const { Vec::new() }; 4];
    for _ in 0..51 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let start = Instant::now();
        let store = SqliteStore::open(&path).unwrap();
        made.push(start.elapsed());
        drop(store);
        let start = Instant::now();
        let store = SqliteStore::open(&path).unwrap();
        opened.push(start.elapsed());
        store.value("none").await.unwrap();
        read.push(start.elapsed());
        let start = Instant::now();
        drop(store);
        closed.push(start.elapsed());
    }
    print("make a store", made);
    print("open it again", opened);
    print("open it again and read", read);
    print("close it", closed);
}

/// A round of one call: two messages of 3 KB and a state of 1 KB.
async fn checkpoints(store: &SqliteStore) {
    let talk = conversation("ann");
    store.put_conversation(talk.clone()).await.unwrap();
    let mut now = run(&talk);
    let [mut queued, mut committed, mut paused] = [const { Vec::new() }; 3];
    for round in 0..1_000_u64 {
        now.state = json!({"round": round, "text": "s".repeat(1_000)});
        let body = json!({"calls": [{"name": "read_file", "result": "r".repeat(3_000)}]});
        let both = vec![message(round * 2, body.clone()), message(round * 2 + 1, body)];
        now.status = if round.is_multiple_of(5) { RunStatus::Paused } else { RunStatus::Running };
        let row = now.clone();
        let start = Instant::now();
        store.checkpoint(row, both);
        queued.push(start.elapsed());
        store.flush(now.id).await.unwrap();
        let times = if now.status == RunStatus::Paused { &mut paused } else { &mut committed };
        times.push(start.elapsed());
    }
    print("queue a checkpoint", queued);
    print("commit a checkpoint", committed);
    print("commit a paused checkpoint (synced)", paused);
    let start = Instant::now();
    for _ in 0..1_000 {
        store.checkpoint(now.clone(), vec![message(0, json!("r".repeat(3_000)))]);
    }
    let queued = start.elapsed() / 1_000;
    store.flush(now.id).await.unwrap();
    println!(
        "1000 at once: {queued:.1?} each to queue, {:.1?} each to commit",
        start.elapsed() / 1_000
    );
    let mut read = Vec::new();
    for since in 0..200 {
        let start = Instant::now();
        store.messages(talk.id, 1_900 + since % 90).await.unwrap();
        read.push(start.elapsed());
    }
    print("read the last 10 to 100 messages", read);
}

async fn questions(store: &SqliteStore) {
    let [mut asked, mut decided, mut read, mut noted] = [const { Vec::new() }; 4];
    for _ in 0..500 {
        let waiting = question();
        let id = waiting.request.id;
        let start = Instant::now();
        store.ask(waiting).await.unwrap();
        asked.push(start.elapsed());
        let record =
            DecisionRecord { decision: Decision::Skip, decided_by: "ann".into(), decided_at: 1 };
        let start = Instant::now();
        store.decide(id, record).await.unwrap().unwrap();
        decided.push(start.elapsed());
        let start = Instant::now();
        store.get(id).await.unwrap();
        read.push(start.elapsed());
        let start = Instant::now();
        store.put_value("a", "b").await.unwrap();
        noted.push(start.elapsed());
    }
    print("ask (synced)", asked);
    print("decide (synced)", decided);
    print("read a question", read);
    print("write a fact (not synced)", noted);
}
