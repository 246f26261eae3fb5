//! Performance floors of the Postgres store that a slow machine reaches too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_core::{
    AuditCheckpoint, AuditSigner, AuditStore as _, CallStore as _, Effect, canonical_json,
};
use toolcrib_store::{PostgresStore, StoreOptions};
use toolcrib_testkit::conformance::{intent, settlement};
use toolcrib_testkit::postgres_server::PostgresServer;

use super::{open, verified};

struct Signer;

impl AuditSigner for Signer {
    fn public_key(&self) -> String {
        "aa".into()
    }

    fn sign(&self, bytes: &[u8]) -> String {
        canonical_json::sha256_text(&String::from_utf8_lossy(bytes))
    }
}

/// Calls in flight.
const IN_FLIGHT: usize = 64;

/// Concurrent writers share their commits: 7 ms per commit are not 7 ms per call. Their records are
/// signed, in the database and in the anchor file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_share_their_commits_and_are_signed() {
    let server = PostgresServer::start();
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        signer: Some(Arc::new(Signer)),
        anchors: Some(folder.path().join("anchors.jsonl")),
        full_commit_delay: Duration::from_millis(7),
        ..StoreOptions::default()
    };
    let url = server.database("figures");
    let store = Arc::new(PostgresStore::connect(&url, options).await.unwrap());
    let epoch = store.claim().await.unwrap();
    let since = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            for _ in 0..20 {
                let begun = intent(Effect::SideEffect, epoch);
                store.begin(begun.clone()).await.unwrap();
                store.settle(settlement(begun.facts, Some(1_500), epoch)).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let rate = (IN_FLIGHT * 20) as f64 / since.elapsed().as_secs_f64();
    println!("{rate:.0} side-effecting calls/s at {IN_FLIGHT} in flight");
    // Alone, a call takes two commits, so at most 71 in a second.
    assert!(rate > 200.0, "{rate:.0} calls/s");

    let made = store.checkpoint_now().await.unwrap();
    assert_eq!(store.checkpoint_now().await, Ok(None), "nothing is new");
    let [(chain, newest)] = store.chains().await.unwrap()[..] else { panic!("one chain") };
    assert_eq!((chain, newest), (epoch, 2 * 64 * 20));
    let kept = store.checkpoints(chain).await.unwrap();
    assert!(kept.len() >= 2, "one each thousand records: {}", kept.len());
    assert_eq!(made.as_ref().or(kept.last()), kept.last());
    store.settle(settlement(intent(Effect::Read, epoch).facts, None, epoch)).await.unwrap();
    drop(store);
    let store = open(&url).await;
    let kept = store.checkpoints(chain).await.unwrap();
    let text = std::fs::read_to_string(folder.path().join("anchors.jsonl")).unwrap();
    let anchored: Vec<AuditCheckpoint> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(anchored, kept);
    assert_eq!(kept.last().unwrap().seq, newest + 1, "the last word is signed too");
    for made in kept {
        let row = &store.records(chain, made.seq - 1, 1).await.unwrap()[0];
        assert_eq!(row.hash, made.head);
        let signed = AuditCheckpoint::signing_payload(chain, made.seq, &made.head, made.at);
        assert_eq!(made.signature, Signer.sign(signed.as_bytes()));
    }
    verified(&store).await;
}
