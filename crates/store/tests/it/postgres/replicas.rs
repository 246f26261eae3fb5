//! Tests of several stores on one database, as with several daemons: one worker per call, prompt
//! recovery, and fencing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolcrib_core::{
    ApprovalStore as _, AuditSigner, AuditStore as _, CallStore as _, ConversationAndRunStore,
    Decision, DecisionRecord, Effect, Intent, OutcomeKind, RunStatus, RunStore as _, StoreError,
    StoredRun, WorkerState,
};
use toolcrib_core::{CallId, ConversationStore as _};
use toolcrib_store::{PostgresStore, SharedOptions, StoreOptions};
use toolcrib_testkit::conformance::{accepted, conversation, intent, question, run, settlement};
use toolcrib_testkit::postgres_server::PostgresServer;

use super::{FAST, open, open_slow, verified};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_a_database() {
    let server = PostgresServer::start_with(FAST);
    a_paused_holder_is_fenced(&server).await;
    an_expired_claim_that_was_not_taken_goes_on(&server).await;
    an_expired_lease_that_its_owner_renews_is_no_death(&server).await;
    the_chain_of_a_killed_daemon_is_closed_by_the_next(&server).await;
    whose_batch_was_taken_is_fenced(&server).await;
    a_process_that_writes_is_not_taken_over(&server).await;
    a_store_that_dies_is_taken_over_after_its_lease(&server).await;
    questions_and_runs_are_decided_once(&server).await;
    each_call_runs_at_most_once(&server).await;
    the_next_process_of_an_instance_releases_what_the_former_left(&server).await;
    a_call_of_this_process_was_cut_off_by_the_database(&server).await;
}

/// Found in review: a daemon that was killed and restarted waited for its own lease to expire.
async fn the_next_process_of_an_instance_releases_what_the_former_left(server: &PostgresServer) {
    let url = server.database("instances");
    let of = async |instance: &str| {
        let instance = Some(instance.to_owned());
        let shared = SharedOptions { instance, ..SharedOptions::default() };
        let options = StoreOptions { shared, ..StoreOptions::default() };
        let lease = Duration::from_secs(3_600);
        Arc::new(PostgresStore::connect_for(&url, options, lease).await.unwrap())
    };
    let (former, next, other) = (of("a").await, of("a").await, of("b").await);
    let (left, elsewhere) = (former.claim().await.unwrap(), other.claim().await.unwrap());
    let begun = intent(Effect::SideEffect, left);
    former.begin(begun.clone()).await.unwrap();
    let mine = next.claim().await.unwrap();
    next.release_former().await.unwrap();
    for (epoch, is_alive) in [(left, false), (elsewhere, true), (mine, true)] {
        let state = next.worker(epoch).await.unwrap();
        assert_eq!(matches!(state, WorkerState::Alive(_)), is_alive, "{epoch}: {state:?}");
    }
    let found = next.recover(mine, 5_000).await.unwrap();
    assert_eq!(found.unknown, [begun.facts.call]);
    let text = unknown_text(&next, begun.facts.call).await;
    assert!(text.contains("the program ended"), "{text}");
}

/// Found in review: the model was told that the program had ended.
async fn a_call_of_this_process_was_cut_off_by_the_database(server: &PostgresServer) {
    let url = server.database("own");
    let store = open_slow(&url).await;
    let held = store.claim().await.unwrap();
    let begun = intent(Effect::SideEffect, held);
    store.begin(begun.clone()).await.unwrap();
    pause(server, "own", held);
    let again = store.claim().await.unwrap();
    assert_eq!(store.recover(again, 5_000).await.unwrap().unknown, [begun.facts.call]);
    let text = unknown_text(&store, begun.facts.call).await;
    assert!(text.contains("the database was away") && !text.contains("program"), "{text}");
}

async fn unknown_text(store: &PostgresStore, call: CallId) -> String {
    let stored = store.call(call).await.unwrap().unwrap();
    stored.row.end.and_then(|end| end.message).unwrap()
}

/// How long a holder has to renew a lease that another store found expired.
const SUSPICION: Duration = Duration::from_secs(5);

/// Simulates a paused holder: the lease of this claim has expired, other processes noticed that
/// long ago, and its holder has not.
fn pause(server: &PostgresServer, database: &str, epoch: u64) {
    let sql = format!(
        "UPDATE workers SET expires_at = now() - interval '1 hour',
            suspected_at = now() - interval '1 minute' WHERE epoch = {epoch}"
    );
    server.sql(database, &sql);
}

/// After an outage of the server every lease has expired, and its owners renew them.
async fn an_expired_lease_that_its_owner_renews_is_no_death(server: &PostgresServer) {
    let url = server.database("outage");
    let lease = Duration::from_secs(2);
    let owner = PostgresStore::connect_for(&url, StoreOptions::default(), lease).await.unwrap();
    let other = open_slow(&url).await;
    let held = owner.claim().await.unwrap();
    let begun = intent(Effect::SideEffect, held);
    owner.begin(begun.clone()).await.unwrap();
    let mine = other.claim().await.unwrap();
    let expired = format!(
        "UPDATE workers SET expires_at = now() - interval '1 hour' WHERE epoch = {held} RETURNING 1"
    );
    server.sql("outage", &expired);
    // The other process is faster than the owner's renewal.
    let found = other.recover(mine, 5_000).await.unwrap();
    assert!(found.unknown.is_empty(), "{found:?}");
    assert!(matches!(other.worker(held).await.unwrap(), WorkerState::Alive(_)));
    let renewed = format!("SELECT expires_at > now() FROM workers WHERE epoch = {held}");
    while server.sql("outage", &renewed) != "t" {}
    assert!(other.recover(mine, 6_000).await.unwrap().unknown.is_empty());
    owner.settle(settlement(begun.facts.clone(), Some(1_500), held)).await.unwrap();
    let stored = other.call(begun.facts.call).await.unwrap().unwrap();
    assert_eq!(stored.row.end.unwrap().outcome, OutcomeKind::Succeeded);
}

/// Its newest records could be cut off unnoticed until a checkpoint covers them.
async fn the_chain_of_a_killed_daemon_is_closed_by_the_next(server: &PostgresServer) {
    let url = server.database("closed");
    // Without a key it signs nothing, like a process that is killed before its next checkpoint.
    let killed = open_slow(&url).await;
    let held = killed.claim().await.unwrap();
    killed.begin(intent(Effect::SideEffect, held)).await.unwrap();
    let options =
        StoreOptions { signer: Some(Arc::new(NumberedSigner)), ..StoreOptions::default() };
    let next = PostgresStore::connect(&url, options).await.unwrap();
    let signed = "SELECT chain, seq, key FROM checkpoints";
    next.checkpoint_now().await.unwrap();
    assert_eq!(server.sql("closed", signed), "", "it lives");
    pause(server, "closed", held);
    for _ in 0..2 {
        next.checkpoint_now().await.unwrap();
        let chain = server.sql("closed", "SELECT chain, seq FROM chains WHERE seq > 0");
        assert_eq!(server.sql("closed", signed), format!("{chain}|the next one"));
    }
}

struct NumberedSigner;

impl AuditSigner for NumberedSigner {
    fn public_key(&self) -> String {
        "the next one".into()
    }

    fn sign(&self, message: &[u8]) -> String {
        message.len().to_string()
    }
}

/// Reliability A5.
async fn a_paused_holder_is_fenced(server: &PostgresServer) {
    let url = server.database("paused");
    let (slow, other) = (open_slow(&url).await, open_slow(&url).await);
    let held = slow.claim().await.unwrap();
    let begun = intent(Effect::SideEffect, held);
    slow.begin(begun.clone()).await.unwrap();
    assert!(
        matches!(other.worker(held).await.unwrap(), WorkerState::Alive(who) if who.starts_with("process "))
    );
    pause(server, "paused", held);
    assert_eq!(other.worker(held).await, Ok(WorkerState::Gone));
    assert!(!other.call(begun.facts.call).await.unwrap().unwrap().is_owner_alive);
    let mine = other.claim().await.unwrap();
    let found = other.recover(mine, 5_000).await.unwrap();
    assert_eq!(found.unknown, [begun.facts.call]);
    // The process resumes: none of its writes is accepted any more, not even for rows that no other
    // process has touched.
    let late = slow.settle(settlement(begun.facts.clone(), Some(1_500), held)).await;
    assert!(matches!(late, Err(StoreError::Fenced { claimed, .. }) if claimed == held), "{late:?}");
    let next = slow.begin(intent(Effect::Read, held)).await;
    assert!(matches!(next, Err(StoreError::Fenced { .. })), "{next:?}");
    let stored = other.call(begun.facts.call).await.unwrap().unwrap();
    assert_eq!(stored.row.end.unwrap().outcome, OutcomeKind::Unknown);
    // A new claim works.
    let again = slow.claim().await.unwrap();
    assert!(again > mine);
    slow.begin(intent(Effect::Read, again)).await.unwrap();
    assert_eq!(verified(&slow).await, 2, "started, and its one end");
}

async fn an_expired_claim_that_was_not_taken_goes_on(server: &PostgresServer) {
    let url = server.database("late");
    let (slow, other) = (open_slow(&url).await, open_slow(&url).await);
    let held = slow.claim().await.unwrap();
    let begun = intent(Effect::SideEffect, held);
    slow.begin(begun.clone()).await.unwrap();
    pause(server, "late", held);
    slow.settle(settlement(begun.facts.clone(), Some(1_500), held)).await.unwrap();
    let mine = other.claim().await.unwrap();
    assert!(other.recover(mine, 5_000).await.unwrap().unknown.is_empty());
    let stored = other.call(begun.facts.call).await.unwrap().unwrap();
    assert_eq!(stored.row.end.unwrap().outcome, OutcomeKind::Succeeded);
}

/// Found by the test of several daemons: a process renewed its lease and held calls of a batch that
/// another one had taken, and no process ended them.
async fn whose_batch_was_taken_is_fenced(server: &PostgresServer) {
    let url = server.database("taken");
    let (slow, other) = (open_slow(&url).await, open_slow(&url).await);
    let held = slow.claim().await.unwrap();
    let mine = other.claim().await.unwrap();
    let accepted = accepted("ann", &[CallId::fresh()], held);
    slow.accept(accepted.clone()).await.unwrap();
    assert!(!other.take_batch(accepted.id, mine).await.unwrap(), "its holder works");
    pause(server, "taken", held);
    assert!(other.take_batch(accepted.id, mine).await.unwrap());
    let late = slow.begin(intent(Effect::Read, held)).await;
    assert!(matches!(late, Err(StoreError::Fenced { claimed, .. }) if claimed == held), "{late:?}");
}

/// A transaction that writes under a claim and one that takes it over exclude each other.
async fn a_process_that_writes_is_not_taken_over(server: &PostgresServer) {
    let url = server.database("writes");
    let options =
        StoreOptions { full_commit_delay: Duration::from_millis(400), ..StoreOptions::default() };
    let lease = Duration::from_secs(3_600);
    let slow = Arc::new(PostgresStore::connect_for(&url, options, lease).await.unwrap());
    let other = open_slow(&url).await;
    let (held, mine) = (slow.claim().await.unwrap(), other.claim().await.unwrap());
    let begun = intent(Effect::SideEffect, held);
    slow.begin(begun.clone()).await.unwrap();
    pause(server, "writes", held);
    // Its transaction is open for a while, and holds the claim.
    let settling = tokio::spawn({
        let (slow, facts) = (Arc::clone(&slow), begun.facts.clone());
        async move { slow.settle(settlement(facts, Some(1_500), held)).await }
    });
    let writing = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'";
    while server.sql("writes", writing) == "0" {}
    let found = other.recover(mine, 5_000).await.unwrap();
    assert!(found.unknown.is_empty(), "{found:?}");
    settling.await.unwrap().unwrap();
}

/// A separate process would be killed; here the thread is disconnected from its database, as by a
/// broken network, and cannot reconnect.
async fn a_store_that_dies_is_taken_over_after_its_lease(server: &PostgresServer) {
    let url = server.database("dies");
    server.sql("dies", "CREATE ROLE replica LOGIN; GRANT ALL ON SCHEMA public TO replica");
    let lease = Duration::from_secs(2);
    let theirs = url.replace("postgres@", "replica@");
    let dies = PostgresStore::connect_for(&theirs, StoreOptions::default(), lease).await.unwrap();
    let held = dies.claim().await.unwrap();
    let begun = intent(Effect::SideEffect, held);
    dies.begin(begun.clone()).await.unwrap();
    // The store renews it by itself.
    let expires = format!("SELECT expires_at FROM workers WHERE epoch = {held}");
    for _ in 0..2 {
        let before = server.sql("dies", &expires);
        while server.sql("dies", &expires) == before {}
    }
    server.sql("dies", "ALTER ROLE replica NOLOGIN");
    server.sql(
        "dies",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'replica'",
    );
    let other = open(&url).await;
    let mine = other.claim().await.unwrap();
    let since = std::time::Instant::now();
    let found = loop {
        let found = other.recover(mine, 5_000).await.unwrap();
        if !found.unknown.is_empty() {
            break found;
        }
        assert!(since.elapsed() < 3 * lease + SUSPICION, "its call is stuck");
    };
    assert_eq!(found.unknown, [begun.facts.call]);
    server.sql("dies", "ALTER ROLE replica LOGIN");
    let late = dies.settle(settlement(begun.facts, Some(1_500), held)).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
}

async fn questions_and_runs_are_decided_once(server: &PostgresServer) {
    let url = server.database("decided");
    let mut stores = Vec::new();
    for _ in 0..4 {
        stores.push(open(&url).await);
    }
    for round in 0..50 {
        let asked = question();
        let id = asked.request.id;
        stores[round % 4].ask(asked).await.unwrap();
        let talk = conversation("ann");
        stores[0].put_conversation(talk.clone()).await.unwrap();
        let paused = StoredRun { status: RunStatus::Paused, ..run(&talk) };
        stores[0].put_run(paused.clone()).await.unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for (store, by) in stores.iter().cloned().zip(["0", "1", "2", "3"]) {
            let record = DecisionRecord {
                decision: Decision::Skip,
                decided_by: by.into(),
                decided_at: 2_000,
            };
            let run = (paused.id, paused.epoch);
            tasks.spawn(async move {
                let decided = store.decide(id, record).await.unwrap();
                (by, decided, store.claim_run(run.0, run.1).await)
            });
        }
        let answers = tasks.join_all().await;
        let won: Vec<&str> =
            answers.iter().filter(|(_, decided, _)| decided.is_ok()).map(|(by, ..)| *by).collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        for (_, decided, _) in &answers {
            assert!(decided.as_ref().err().is_none_or(|first| first.decided_by == won[0]));
        }
        assert_eq!(answers.iter().filter(|(.., taken)| taken.is_ok()).count(), 1, "{answers:?}");
    }
    assert_eq!(verified(&stores[0]).await, 50 * 5, "asked, and four tries to decide");
    let store: &dyn ConversationAndRunStore = &*stores[0];
    store.flush(toolcrib_core::RunId::fresh()).await.unwrap();
}

/// Number of contested calls.
const CALLS: usize = 2_000;
const REPLICAS: usize = 4;

/// The real effects, as tools would record them.
type Truth = Arc<Mutex<HashMap<CallId, u32>>>;

/// Reliability A3, without the kills: claims are dropped at random while calls run.
async fn each_call_runs_at_most_once(server: &PostgresServer) {
    let url = server.database("races");
    let calls: Arc<Vec<Intent>> =
        Arc::new((0..CALLS).map(|_| intent(Effect::SideEffect, 0)).collect());
    let truth = Truth::default();
    let mut tasks = tokio::task::JoinSet::new();
    for replica in 0..REPLICAS {
        let store = open(&url).await;
        for part in 0..16 {
            let (store, calls, truth) =
                (Arc::clone(&store), Arc::clone(&calls), Arc::clone(&truth));
            tasks.spawn(async move { race(&store, &calls, &truth, replica * 16 + part).await });
        }
    }
    let unknown: usize = tasks.join_all().await.into_iter().sum();
    let last = open(&url).await;
    let mine = last.claim().await.unwrap();
    let left = last.recover(mine, 5_000).await.unwrap().unknown.len();
    assert!(last.open_calls().await.unwrap().is_empty(), "calls are stuck");
    let truth = truth.lock().unwrap().clone();
    assert!(truth.values().all(|runs| *runs == 1), "a call ran twice");
    let ends = server.sql("races", "SELECT count(*) FILTER (WHERE outcome = 'succeeded'), count(*) FILTER (WHERE outcome = 'unknown') FROM calls");
    let succeeded = CALLS - unknown - left;
    assert_eq!(ends, format!("{succeeded}|{}", unknown + left));
    assert!(unknown + left > 20 && succeeded > CALLS / 2, "{ends}");
    assert_eq!(truth.len(), CALLS);
    let records =
        server.sql("races", "SELECT count(*) FROM audit WHERE text LIKE '%\"kind\":\"settled\"%'");
    assert_eq!(records, CALLS.to_string(), "one record of each end");
    assert_eq!(verified(&last).await, 2 * CALLS);
}

/// Tries each call, in a separate order; drops its claim in the middle of some. Returns the number
/// of calls that it found to be unknown.
async fn race(store: &PostgresStore, calls: &[Intent], truth: &Truth, seed: usize) -> usize {
    let mut unknown = 0;
    let mut epoch = store.claim().await.unwrap();
    // Each starts at a different call and uses a different step, so that they collide frequently; a
    // step of one visits every call.
    let (start, step) = (seed * CALLS / (16 * REPLICAS), [1, 3, 7, 9][seed % 4]);
    for n in 0..CALLS / 16 {
        let intent = Intent { epoch, ..calls[(start + n * step) % CALLS].clone() };
        if let Err(error) = store.begin(intent.clone()).await {
            assert!(matches!(error, StoreError::Conflict(_)), "{error}");
            continue;
        }
        *truth.lock().unwrap().entry(intent.facts.call).or_default() += 1;
        if (seed * 31 + n * 7).is_multiple_of(19) {
            // The process counts as dead for the others; another one recovers its open work.
            store.release(epoch).await.unwrap();
            epoch = store.claim().await.unwrap();
            unknown += store.recover(epoch, 5_000).await.unwrap().unknown.len();
            let late = store.settle(settlement(intent.facts, Some(1_500), intent.epoch)).await;
            assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
            continue;
        }
        store.settle(settlement(intent.facts, Some(1_500), epoch)).await.unwrap();
    }
    unknown
}
