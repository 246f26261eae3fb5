//! Tests of calls in a file: durability, worker liveness, and recovery after a process is killed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::Arc;

use toolcrib_core::{
    AcceptedBatch, ApprovalStore, CallHistory, CallId, CallStore, ConversationStore, Decision,
    DecisionRecord, Effect, Intent, InterruptedAttempt, OutcomeKind, RunStatus, RunStore,
    StoreError, StoredRun, WorkerState,
};
use toolcrib_store::{CommitCounts, SqliteStore};
use toolcrib_testkit::conformance::{
    self, accepted, conversation, intent, recover_and_take, run, settlement,
};

use crate::audit::verified;
use crate::processes::start;

/// Path of the store for a process that dies with open calls.
const CALLS: &str = "TOOLCRIB_TEST_CALLS";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_every_call_store() {
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    conformance::calls(Arc::clone(&store) as _, Arc::clone(&store) as _, Some(&*store)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_every_call_store_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let open = || Arc::new(SqliteStore::open(&path).unwrap());
    let (one, two) = (open(), open());
    conformance::calls(Arc::clone(&one) as _, Arc::clone(&two) as _, Some(&*one)).await;
    verified(&one).await;
}

fn lock_files(path: &Path) -> Vec<String> {
    let folder = format!("{}.workers", path.display());
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn only_what_may_change_something_is_synced() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("store.db")).unwrap();
    let epoch = store.claim().await.unwrap();
    let before = store.commits();
    for (effect, full) in [(Effect::Read, 0), (Effect::Idempotent, 0), (Effect::SideEffect, 2)] {
        let before = store.commits();
        let begun = intent(effect, epoch);
        store.begin(begun.clone()).await.unwrap();
        store.settle(settlement(begun.facts, Some(1_500), epoch)).await.unwrap();
        assert_eq!(store.commits().full - before.full, full, "{effect:?}");
    }
    // A refused call has changed nothing.
    let refused = conformance::refusal(intent(Effect::SideEffect, epoch).facts, epoch);
    store.settle(refused).await.unwrap();
    let CommitCounts { full, normal } = store.commits();
    assert_eq!(full - before.full, 2);
    assert!((3..=5).contains(&(normal - before.normal)));
}

/// Each synced write of a decision delays the call that it is about.
#[tokio::test]
async fn a_decision_that_takes_its_run_is_synced_once_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("store.db")).unwrap();
    let epoch = store.claim().await.unwrap();
    let asked = conformance::question();
    store.ask(asked.clone()).await.unwrap();
    let held = conversation("ann");
    store.put_conversation(held.clone()).await.unwrap();
    let paused = StoredRun { status: RunStatus::Paused, ..run(&held) };
    store.put_run(paused.clone()).await.unwrap();
    let before = store.commits();
    let approved = DecisionRecord {
        decision: Decision::approve(),
        decided_by: "ann".to_owned(),
        decided_at: 1_000,
    };
    assert_eq!(store.decide_ahead(asked.request.id, approved).await, Ok(Ok(())));
    assert_eq!(store.commits().full, before.full, "the decision waits for no disk");
    store.claim_run(paused.id, paused.epoch).await.unwrap();
    assert_eq!(store.commits().full - before.full, 1);
    // A single call: its promise is synced with the decision about it.
    let alone = conformance::question();
    store.ask(alone.clone()).await.unwrap();
    let before = store.commits();
    store.accept_ahead(accepted("ann", &[alone.request.call], epoch)).await.unwrap();
    assert_eq!(store.commits().full, before.full);
    // If no write follows, the log is synced separately.
    assert_eq!(store.sync().await, Ok(()));
}

#[tokio::test]
async fn reads_see_writes_without_waiters() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("store.db")).unwrap();
    let epoch = store.claim().await.unwrap();
    for _ in 0..50 {
        let begun = intent(Effect::Read, epoch);
        store.begin(begun.clone()).await.unwrap();
        assert!(store.call(begun.facts.call).await.unwrap().unwrap().is_owner_alive);
    }
    assert_eq!(store.open_calls().await.unwrap().len(), 50);
}

#[tokio::test]
async fn attempts_that_a_crash_cut_off_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let first = intent(Effect::Read, store.claim().await.unwrap());
    let mut epochs = vec![first.epoch];
    store.begin(first.clone()).await.unwrap();
    for started_at in [2_000, 3_000] {
        store.release(epochs[epochs.len() - 1]).await.unwrap();
        let epoch = store.claim().await.unwrap();
        store.begin(Intent { epoch, started_at, ..first.clone() }).await.unwrap();
        epochs.push(epoch);
    }
    store.settle(settlement(first.facts.clone(), Some(3_000), epochs[2])).await.unwrap();
    let stored = store.call(first.facts.call).await.unwrap().unwrap();
    let cut_off = |epoch, started_at| InterruptedAttempt { epoch, started_at: Some(started_at) };
    assert_eq!(stored.earlier, [cut_off(epochs[0], 1_500), cut_off(epochs[1], 2_000)]);
}

#[tokio::test]
async fn lock_files_go_with_their_claims() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (one, two) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    let (first, second) = (one.claim().await.unwrap(), two.claim().await.unwrap());
    assert_eq!(lock_files(&path), [first.to_string(), second.to_string()]);
    one.release(first).await.unwrap();
    assert_eq!(lock_files(&path), [second.to_string()]);
    // A dropped handle represents a dead process: the recovering process removes its file.
    drop(two);
    assert_eq!(one.worker(second).await, Ok(WorkerState::Gone));
    let third = one.claim().await.unwrap();
    one.recover(third, 5_000).await.unwrap();
    assert_eq!(lock_files(&path), [third.to_string()]);
}

#[tokio::test]
async fn a_claim_without_waiters_lives_as_long_as_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let first = store.claim().await.unwrap();
    drop(store.claim());
    let third = store.claim().await.unwrap();
    assert_eq!(third, first + 2);
    assert_eq!(store.worker(first + 1).await, Ok(WorkerState::Gone));
    assert_eq!(lock_files(&path), [first.to_string(), third.to_string()]);
}

#[tokio::test]
async fn a_process_that_was_taken_over_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (one, two) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    let (lost, alive) = (one.claim().await.unwrap(), two.claim().await.unwrap());
    let begun = intent(Effect::SideEffect, lost);
    one.begin(begun.clone()).await.unwrap();
    // The lock files are deleted from outside.
    std::fs::remove_file(format!("{}.workers/{lost}", path.display())).unwrap();
    let found = two.recover(alive, 5_000).await.unwrap();
    assert_eq!(found.unknown, [begun.facts.call]);
    let late = one.settle(settlement(begun.facts.clone(), Some(1_500), lost)).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    let next = one.begin(intent(Effect::SideEffect, lost)).await;
    assert!(matches!(next, Err(StoreError::Fenced { .. })), "{next:?}");
    let end = one.call(begun.facts.call).await.unwrap().unwrap().row.end.unwrap();
    assert_eq!(end.outcome, OutcomeKind::Unknown);
}

/// Begins calls, prints their ids, and waits to be killed.
async fn leave_behind(path: &Path) -> ! {
    let store = SqliteStore::open(path).unwrap();
    let epoch = store.claim().await.unwrap();
    let mut said = std::io::stdout();
    let changes = intent(Effect::SideEffect, epoch);
    let reads = intent(Effect::Read, epoch);
    let mut of_run = intent(Effect::Read, epoch);
    let talk = conversation("ann");
    store.put_conversation(talk.clone()).await.unwrap();
    let paused = StoredRun { status: RunStatus::Paused, ..run(&talk) };
    store.put_run(paused.clone()).await.unwrap();
    of_run.facts.run = Some(paused.id);
    let in_batch = intent(Effect::Idempotent, epoch);
    let batch = accepted("ann", &[in_batch.facts.call], epoch);
    store.accept(batch).await.unwrap();
    for begun in [&reads, &of_run, &in_batch, &changes] {
        store.begin(begun.clone()).await.unwrap();
    }
    let calls = [&changes, &reads, &of_run, &in_batch].map(|begun| begun.facts.call.to_string());
    writeln!(said, "\nleft {epoch} {}", calls.join(" ")).unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn what_a_killed_process_left_is_dealt_with_once() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    if let Some(path) = std::env::var_os(CALLS) {
        runtime.block_on(leave_behind(Path::new(&path)));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut child = start("calls::what_a_killed_process_left_is_dealt_with_once", CALLS, &path);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let left =
        lines.find_map(|line| line.unwrap().strip_prefix("left ").map(str::to_owned)).unwrap();
    let (epoch, calls) = left.split_once(' ').unwrap();
    let epoch: u64 = epoch.parse().unwrap();
    let calls: Vec<CallId> = calls.split(' ').map(|call| call.parse().unwrap()).collect();
    let [changes, reads, of_run, in_batch] = calls[..] else { panic!("{calls:?}") };

    let stores = [(); 2].map(|()| SqliteStore::open(&path).unwrap());
    runtime.block_on(async {
        let store = &stores[0];
        let words = format!("process {}", child.id());
        assert_eq!(store.worker(epoch).await, Ok(WorkerState::Alive(words)));
        assert!(store.call(changes).await.unwrap().unwrap().is_owner_alive);
        let mine = store.claim().await.unwrap();
        let found = recover_and_take(store, mine, 5_000).await.unwrap();
        assert!(found.unknown.is_empty() && found.batches.is_empty(), "it lives: {found:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(store.worker(epoch).await, Ok(WorkerState::Gone));
        assert!(!store.call(changes).await.unwrap().unwrap().is_owner_alive);
        // Two concurrent recoveries share the remaining work.
        let recovers = stores.clone().map(|store| {
            tokio::spawn(async move {
                let mine = store.claim().await.unwrap();
                (mine, recover_and_take(&store, mine, 5_000).await.unwrap())
            })
        });
        let (mut unknown, mut interrupted, mut batches) = (vec![], vec![], vec![]);
        for recover in recovers {
            let (mine, found) = recover.await.unwrap();
            assert!(found.batches.iter().all(|batch: &AcceptedBatch| batch.epoch == mine));
            unknown.extend(found.unknown);
            interrupted.extend(found.interrupted);
            batches.extend(found.batches);
        }
        assert_eq!((unknown, interrupted, batches.len()), (vec![changes], vec![reads], 1));
        let open: Vec<CallId> =
            store.open_calls().await.unwrap().iter().map(|row| row.facts.call).collect();
        assert_eq!(open, [of_run, in_batch]);
        assert!(!lock_files(&path).contains(&epoch.to_string()));
        verified(store).await;
        assert_eq!(store.calls_with_id_prefix("ann", "call_", 9).await.unwrap().len(), 4);
    });
}
