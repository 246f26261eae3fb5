//! Tests of a server that is unavailable for longer: stopped, or hanging.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use toolcrib_core::{
    CallDetails, CallStore as _, Effect, KeyValueStore as _, OutcomeKind, StoreError,
};
use toolcrib_store::PostgresStore;
use toolcrib_testkit::conformance::{intent, settlement};
use toolcrib_testkit::postgres_server::PostgresServer;

use super::{FAST, open};

/// Time within which a request fails.
const LIMIT: Duration = Duration::from_secs(5);

/// The processes of a server, stopped until this is dropped.
struct Hanging(Vec<String>);

impl Hanging {
    fn new(server: &PostgresServer) -> Self {
        let sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'toolcrib'";
        let backends = server.sql("postgres", sql);
        let lock = server.folder().join("data/postmaster.pid");
        let lock = std::fs::read_to_string(lock).unwrap();
        let all = backends.lines().chain(lock.lines().next());
        let hanging = Self(all.map(|pid| pid.trim().to_owned()).collect());
        hanging.send("-STOP");
        hanging
    }

    fn send(&self, signal: &str) {
        assert!(Command::new("kill").arg(signal).args(&self.0).status().unwrap().success());
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.send("-CONT");
    }
}

/// Found in review: requests waited for 30 to 59 s.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_server_is_away_requests_fail_within_seconds_and_outcomes_wait() {
    let mut server = PostgresServer::start_with(FAST);
    let store = open(&server.database("away")).await;
    store.put_value("before", "1").await.unwrap();
    let held = store.claim().await.unwrap();

    let begun = begun_call(&store, held).await;
    let hangs = Hanging::new(&server);
    let settling = settle(&store, begun.clone(), held);
    requests_fail(&store).await;
    assert!(!settling.is_finished(), "what has happened is recorded when the server is back");
    drop(hangs);
    is_settled(&store, settling, begun).await;

    let begun = begun_call(&store, held).await;
    tokio::task::block_in_place(|| server.stop());
    let settling = settle(&store, begun.clone(), held);
    requests_fail(&store).await;
    assert!(!settling.is_finished(), "what has happened is recorded when the server is back");
    tokio::task::block_in_place(|| server.start_again());
    is_settled(&store, settling, begun).await;
}

/// Regression: the answer to a call that the outage itself refused took 31 s, and a daemon could
/// not stop that long: the record waited like that of a call that had run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_of_a_call_that_did_not_start_does_not_wait_for_the_server() {
    let server = PostgresServer::start_with(FAST);
    let store = open(&server.database("refused")).await;
    let held = store.claim().await.unwrap();
    let refused = settlement(intent(Effect::SideEffect, held).facts, None, held);
    let hangs = Hanging::new(&server);
    let began = Instant::now();
    let answer = store.settle(refused.clone()).await;
    assert!(matches!(answer, Err(StoreError::Busy(_))), "{answer:?}");
    assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    drop(hangs);
    answers_again(&store).await;
    store.settle(refused).await.unwrap();
}

async fn begun_call(store: &PostgresStore, held: u64) -> CallDetails {
    let begun = intent(Effect::SideEffect, held);
    store.begin(begun.clone()).await.unwrap();
    begun.facts
}

type Settling = JoinHandle<Result<(), StoreError>>;

fn settle(store: &Arc<PostgresStore>, facts: CallDetails, held: u64) -> Settling {
    let store = Arc::clone(store);
    tokio::spawn(async move { store.settle(settlement(facts, Some(1_500), held)).await })
}

async fn is_settled(store: &PostgresStore, settling: Settling, facts: CallDetails) {
    settling.await.unwrap().unwrap();
    answers_again(store).await;
    let stored = store.call(facts.call).await.unwrap().unwrap();
    assert_eq!(stored.row.end.unwrap().outcome, OutcomeKind::Succeeded);
}

async fn requests_fail(store: &PostgresStore) {
    let begun = Instant::now();
    let (read, written) =
        tokio::join!(store.value("before"), store.put_value("during the outage", "2"));
    assert!(matches!(read, Err(StoreError::Busy(_))), "{read:?}");
    assert!(matches!(written, Err(StoreError::Busy(_))), "{written:?}");
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
    let next = Instant::now();
    assert!(matches!(store.value("before").await, Err(StoreError::Busy(_))));
    assert!(matches!(store.put_value("later", "2").await, Err(StoreError::Busy(_))));
    assert!(next.elapsed() < Duration::from_secs(1), "the server is known to be away");
}

async fn answers_again(store: &PostgresStore) {
    let begun = Instant::now();
    while store.value("before").await.is_err() {
        assert!(begun.elapsed() < LIMIT, "the server is back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    store.put_value("after", "3").await.unwrap();
}
