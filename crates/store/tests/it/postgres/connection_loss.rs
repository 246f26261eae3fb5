//! Tests of lost connections and server crashes: acknowledged writes are stored exactly once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use toolcrib_core::{
    ApprovalStore as _, CallStore as _, Decision, DecisionRecord, Effect, KeyValueStore as _,
    Settlement,
};
use toolcrib_store::PostgresStore;
use toolcrib_testkit::conformance::{intent, question, settlement};
use toolcrib_testkit::postgres_server::PostgresServer;

use super::{FAST, open, verified};

/// Concurrently writing tasks.
const TASKS: usize = 12;
/// Calls of each task.
const CALLS: usize = 40;
/// Cuts the connections of all stores at random times, and returns their number.
const CUT: &str = "DO $$ DECLARE cut int; BEGIN FOR round IN 1..10 LOOP
    PERFORM pg_sleep(random() * 0.04), pg_stat_clear_snapshot();
    SELECT count(pg_terminate_backend(pid)) INTO cut FROM pg_stat_activity WHERE application_name = 'toolcrib';
    UPDATE cuts SET n = n + cut;
END LOOP; END $$";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_there_once() {
    let mut server = PostgresServer::start_with(FAST);
    let url = server.database("cut");
    let store = open(&url).await;
    server.sql("postgres", "CREATE TABLE cuts AS SELECT 0 AS n");
    let work = tokio::spawn(work(Arc::clone(&store)));
    while !work.is_finished() {
        tokio::task::block_in_place(|| server.sql("postgres", CUT));
    }
    let ended = work.await.unwrap();
    let cuts: u32 = server.sql("postgres", "SELECT n FROM cuts").parse().unwrap();
    assert!(cuts >= 10, "{cuts} cuts");
    check(&server, &store, &ended).await;

    a_commit_that_was_done_is_not_done_again(&server).await;
    a_commit_that_came_to_nothing_is_done_again(&server).await;

    // The server itself crashes and restarts under load.
    let work = tokio::spawn(work_again(Arc::clone(&store)));
    for _ in 0..2 {
        tokio::task::block_in_place(|| server.restart());
    }
    let more = work.await.unwrap();
    assert_eq!(store.value("before").await.unwrap().as_deref(), Some("the crash"));
    let all = [ended, more].concat();
    check(&server, &store, &all).await;
}

/// Decisions, until the connection was cut while the commit of one waited: for `event`, which
/// `begin` brings about and `end` ends.
async fn cut_a_commit(
    server: &PostgresServer,
    name: &str,
    event: &str,
    begin: &[&str],
    end: &[&str],
) {
    let store = open(&server.database(name)).await;
    let stop = Arc::new(AtomicBool::new(false));
    let decisions = tokio::spawn({
        let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
        async move {
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) {
                decide(&store).await;
                count += 1;
            }
            count
        }
    });
    begin.iter().for_each(|sql| drop(server.sql(name, sql)));
    let cut = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE application_name = 'toolcrib' AND wait_event = '{event}' AND query = 'COMMIT'"
    );
    while server.sql(name, &cut) == "0" {}
    end.iter().for_each(|sql| drop(server.sql(name, sql)));
    stop.store(true, Ordering::Relaxed);
    let count = decisions.await.unwrap();
    let kind = |kind: &str| format!("count(*) FILTER (WHERE text LIKE '%\"kind\":\"{kind}\"%')");
    let sql = format!("SELECT {}, {}, count(*) FROM audit", kind("asked"), kind("decided"));
    assert_eq!(server.sql(name, &sql), format!("{count}|{count}|{}", 2 * count));
    assert_eq!(verified(&store).await, 2 * count);
}

/// The connection is lost after the server has committed and waits for a nonexistent standby.
async fn a_commit_that_was_done_is_not_done_again(server: &PostgresServer) {
    let begin =
        ["ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()"];
    let end = ["ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"];
    cut_a_commit(server, "done", "SyncRep", &begin, &end).await;
}

/// The connection is lost while the server is still working before the commit.
async fn a_commit_that_came_to_nothing_is_done_again(server: &PostgresServer) {
    let begin = [
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'",
        "CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON approvals DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION slow()",
    ];
    // A second try waits in it too, until it is told that it is over.
    let end = [
        "CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN RETURN NULL; END'",
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
    ];
    cut_a_commit(server, "nothing", "PgSleep", &begin, &end).await;
}

async fn work_again(store: Arc<PostgresStore>) -> Vec<Settlement> {
    store.put_value("before", "the crash").await.unwrap();
    work(store).await
}

/// Every write is answered with success, each time, whatever happens to its connection.
async fn work(store: Arc<PostgresStore>) -> Vec<Settlement> {
    let epoch = store.claim().await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let mut ended = Vec::new();
            for n in 0..CALLS {
                let effect = if (task + n) % 3 == 0 { Effect::Read } else { Effect::SideEffect };
                let begun = intent(effect, epoch);
                store.begin(begun.clone()).await.unwrap();
                let end = settlement(begun.facts, Some(begun.started_at), epoch);
                store.settle(end.clone()).await.unwrap();
                ended.push(end);
                if n % 10 == 0 {
                    decide(&store).await;
                }
            }
            ended
        });
    }
    tasks.join_all().await.into_iter().flatten().collect()
}

/// A decision that was written is answered as the first, not as a second try.
async fn decide(store: &PostgresStore) {
    let asked = question();
    let id = asked.request.id;
    store.ask(asked).await.unwrap();
    let record =
        DecisionRecord { decision: Decision::Skip, decided_by: "ann".into(), decided_at: 3 };
    assert_eq!(store.decide(id, record).await, Ok(Ok(())));
}

async fn check(server: &PostgresServer, store: &PostgresStore, ended: &[Settlement]) {
    for end in ended {
        let call = end.record.facts.call;
        let stored = store.call(call).await.unwrap().unwrap();
        assert_eq!(stored.row, end.record.clone().into());
    }
    assert_eq!(server.sql("cut", "SELECT count(*) FROM calls"), ended.len().to_string());
    let kind = |kind: &str| {
        let sql = format!(
            "SELECT count(*), count(DISTINCT coalesce(call, '')) FROM audit WHERE text LIKE '%\"kind\":\"{kind}\"%'"
        );
        server.sql("cut", &sql)
    };
    assert_eq!(kind("settled"), format!("{0}|{0}", ended.len()), "one record of each end");
    assert_eq!(kind("decided_again"), "0|0");
    verified(store).await;
}
