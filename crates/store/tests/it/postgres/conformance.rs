//! Runs the store conformance suites of `core` on Postgres.

use toolcrib_core::KeyValueStore as _;
use toolcrib_store::PostgresStore;
use toolcrib_testkit::conformance::{self, Stores};
use toolcrib_testkit::postgres_server::PostgresServer;

use super::{FAST, open, verified};

#[test]
fn as_every_store() {
    let server = PostgresServer::start_with(FAST);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let store = open(&server.database("shared")).await;
        let other = open(&server.url("shared")).await;
        conformance::approvals(&*store).await;
        conformance::grants(&*store).await;
        conformance::memories(&*store).await;
        conformance::tasks(&*store).await;
        conformance::notifications(&*store).await;
        conformance::assistant_rows(&*store).await;
        conformance::document_chunks(&*store).await;
        conformance::conversations(&*store).await;
        conformance::runs(&*store).await;
        conformance::checkpoints(&*store).await;
        conformance::facts(&*store).await;
        conformance::switches(&*store).await;
        conformance::tokens(&*store).await;
        conformance::calls(store.clone(), other.clone(), Some(&*store)).await;
        assert!(verified(&store).await > 500);
        each_of_many_is_answered(&store, &server).await;
        let alone = open(&server.database("alone")).await;
        conformance::history(&*alone, &*alone).await;
        let alone = open(&server.database("used")).await;
        conformance::usage(&*alone, &*alone).await;
    });
    drop(runtime);
    for seed in 1..=2 {
        sequence(&server, seed);
    }
}

/// More jobs than fit in one transaction, one of which the database refuses: the others succeed.
async fn each_of_many_is_answered(store: &PostgresStore, server: &PostgresServer) {
    server.sql("shared", "ALTER TABLE facts ADD CHECK (value <> 'refused')");
    let value = |n: usize| if n == 300 { "refused" } else { "fine" };
    let names: Vec<String> = (0..700).map(|n| format!("many {n}")).collect();
    let queued: Vec<_> =
        names.iter().enumerate().map(|(n, name)| store.put_value(name, value(n))).collect();
    for (n, written) in queued.into_iter().enumerate() {
        let answer = written.await;
        assert_eq!(answer.is_err(), n == 300, "{n}: {answer:?}");
    }
    assert_eq!(server.sql("shared", "SELECT count(*) FROM facts WHERE name LIKE 'many %'"), "699");
}

/// Any sequence answers as the model, on a runtime that has neither timers nor sockets.
fn sequence(server: &PostgresServer, seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    })
    .take(800)
    .collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = open(&server.database(&format!("sequence{seed}"))).await;
        let stores = Stores { runs: &*store, approvals: &*store, grants: &*store, facts: &*store };
        conformance::random_operations(stores, &bytes).await;
        verified(&store).await;
    });
}
