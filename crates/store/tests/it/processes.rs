//! Tests of several handles and processes on one file, including processes that are killed.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use toolcrib_core::{
    ApprovalId, ApprovalStore, ConversationAndRunStore, ConversationStore, Decision,
    DecisionRecord, KeyValueStore, RunId, RunStatus, RunStore, StoreError, StoredRun,
};
use toolcrib_store::SqliteStore;
use toolcrib_testkit::conformance::{conversation, message, question, run};

/// Path of the store for a process that is killed.
const STORE: &str = "TOOLCRIB_TEST_STORE";
/// Path of the database for a process that decides pending questions.
const PENDING: &str = "TOOLCRIB_TEST_PENDING";

fn decision(by: &str) -> DecisionRecord {
    DecisionRecord { decision: Decision::Skip, decided_by: by.into(), decided_at: 2_000 }
}

/// Writes one acknowledged round: a question, its decision, a run whose state counts its messages,
/// and the paused run.
async fn write_round(store: &SqliteStore, say: &mut impl Write) {
    let asked = question();
    let id = asked.request.id;
    store.ask(asked).await.unwrap();
    writeln!(say, "asked {id}").unwrap();
    let talk = conversation("ann");
    store.put_conversation(talk.clone()).await.unwrap();
    let mut now = run(&talk);
    for round in 0..5_u64 {
        now.state = json!({"messages": round * 2 + 2});
        let both =
            [message(round * 2, json!("q")), message(round * 2 + 1, json!("a".repeat(9_000)))];
        store.checkpoint(now.clone(), both.into());
    }
    now.status = RunStatus::Paused;
    store.checkpoint(now.clone(), vec![]);
    store.decide(id, decision("ann")).await.unwrap().unwrap();
    writeln!(say, "decided {id}").unwrap();
    store.flush(now.id).await.unwrap();
    writeln!(say, "paused {}", now.id).unwrap();
}

/// The role of the process that is killed: with the variable set it writes until then. Without it,
/// as one test among others, it writes a few rounds and checks them.
#[test]
fn acknowledged_rounds_are_complete() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    if let Some(path) = std::env::var_os(STORE) {
        let store = SqliteStore::open(Path::new(&path)).unwrap();
        let mut stdout = std::io::stdout();
        loop {
            runtime.block_on(write_round(&store, &mut stdout));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut said = Vec::new();
    let store = SqliteStore::open(&path).unwrap();
    for _ in 0..3 {
        runtime.block_on(write_round(&store, &mut said));
    }
    let mut seen = Acknowledged::default();
    seen.read(&String::from_utf8(said).unwrap());
    assert_eq!((seen.asked.len(), seen.decided.len(), seen.paused.len()), (3, 3, 3));
    runtime.block_on(seen.check(&store));
}

/// The writes that a process has acknowledged.
#[derive(Default)]
struct Acknowledged {
    asked: HashSet<ApprovalId>,
    decided: HashSet<ApprovalId>,
    paused: HashSet<RunId>,
}

impl Acknowledged {
    /// Parses lines of the process; the test harness prints lines too, and the last line may be
    /// cut.
    fn read(&mut self, text: &str) {
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            match line.split_once(' ') {
                Some(("asked", id)) => drop(self.asked.insert(id.parse().unwrap())),
                Some(("decided", id)) => drop(self.decided.insert(id.parse().unwrap())),
                Some(("paused", id)) => drop(self.paused.insert(id.parse().unwrap())),
                _ => {}
            }
        }
    }

    async fn check(&self, store: &SqliteStore) {
        for id in &self.asked {
            let (_, record) = store.get(*id).await.unwrap().unwrap();
            assert!(record.is_some() || !self.decided.contains(id), "{id} lost its decision");
        }
        for id in &self.paused {
            let run = store.run(*id).await.unwrap().unwrap();
            assert_eq!(run.status, RunStatus::Paused);
        }
        // Acknowledged or not: a run and its messages are stored together.
        for run in store.runs("ann", None, usize::MAX).await.unwrap() {
            let there = store.messages(run.conversation, 0).await.unwrap().len();
            assert_eq!(run.state["messages"], there, "{}", run.id);
        }
    }
}

/// This test program in another process, which plays the role of this test.
pub(crate) fn start(test: &str, role: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(role, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut seen = Acknowledged::default();
    for round in 0..20 {
        let mut child = start("processes::acknowledged_rounds_are_complete", STORE, &path);
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        // The process dies at a different point each time, within its first rounds.
        let mut wait_for = 1 + round % 7;
        while wait_for > 0 {
            let before = text.len();
            assert!(said.read_line(&mut text).unwrap() > 0, "the writer ended: {text}");
            let line = &text[before..];
            if ["asked ", "decided ", "paused "].iter().any(|word| line.starts_with(word)) {
                wait_for -= 1;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        said.read_to_string(&mut text).unwrap();
        seen.read(&text);
        let store = SqliteStore::open(&path).unwrap();
        runtime.block_on(seen.check(&store));
    }
    assert!(seen.asked.len() >= 20 && !seen.decided.is_empty() && !seen.paused.is_empty());
    let check: String = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_decide_at_once_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    // Like two processes, two handles share only the file.
    let (one, two) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    for _ in 0..20 {
        let asked = question();
        let id = asked.request.id;
        one.ask(asked).await.unwrap();
        let decide = |store: &SqliteStore, by: &str| {
            let (store, record) = (store.clone(), decision(by));
            tokio::spawn(async move { store.decide(id, record).await })
        };
        let (first, second) = (decide(&one, "one"), decide(&two, "two"));
        let answers = (first.await.unwrap().unwrap(), second.await.unwrap().unwrap());
        let winner = match answers {
            (Ok(()), Err(first)) if first == decision("one") => first,
            (Err(first), Ok(())) if first == decision("two") => first,
            both => panic!("{both:?}"),
        };
        for store in [&one, &two] {
            assert_eq!(store.get(id).await.unwrap().unwrap().1, Some(winner.clone()));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_take_a_run_at_once_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let stores: Vec<_> = (0..4).map(|_| SqliteStore::open(&path).unwrap()).collect();
    let talk = conversation("ann");
    stores[0].put_conversation(talk.clone()).await.unwrap();
    let paused = StoredRun { status: RunStatus::Paused, ..run(&talk) };
    stores[0].put_run(paused.clone()).await.unwrap();
    let takes: Vec<_> = stores
        .iter()
        .map(|store| {
            let (store, id, epoch) = (store.clone(), paused.id, paused.epoch);
            tokio::spawn(async move { store.claim_run(id, epoch).await })
        })
        .collect();
    let mut won = 0;
    for take in takes {
        match take.await.unwrap() {
            Ok(taken) => {
                assert_eq!((taken.status, taken.epoch), (RunStatus::Running, 2));
                won += 1;
            }
            Err(error) => assert_eq!(error, StoreError::Conflict("running".into())),
        }
    }
    assert_eq!(won, 1);
}

/// Decides all pending questions as `by` once `wait` returns, and returns those that it decided
/// first.
fn decide_all(path: &Path, by: &str, wait: impl FnOnce()) -> HashSet<ApprovalId> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = SqliteStore::open(path).unwrap();
    let pending = runtime.block_on(store.pending()).unwrap();
    wait();
    let decide = |id| runtime.block_on(store.decide(id, decision(by))).unwrap();
    pending.iter().map(|request| request.id).filter(|id| decide(*id).is_ok()).collect()
}

#[test]
fn every_question_is_decided_by_one_process() {
    let said = |word: &str| println!("\n{word}");
    if let Some(path) = std::env::var_os(PENDING) {
        let by = std::process::id().to_string();
        let won = decide_all(Path::new(&path), &by, || {
            said("ready");
            std::io::stdin().read_line(&mut String::new()).unwrap();
        });
        won.iter().for_each(|id| said(&format!("won {id}")));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let asked: Vec<_> = (0..30).map(|_| question()).collect();
    for waiting in &asked {
        runtime.block_on(store.ask(waiting.clone())).unwrap();
    }
    let mut deciders: Vec<_> = (0..2)
        .map(|_| {
            let mut child =
                start("processes::every_question_is_decided_by_one_process", PENDING, &path);
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            assert!(lines.any(|line| line.unwrap() == "ready"));
            (child, lines)
        })
        .collect();
    for (child, _) in &mut deciders {
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    let mut won = Vec::new();
    for (mut child, lines) in deciders {
        let by = child.id().to_string();
        for id in lines.filter_map(|line| line.unwrap().strip_prefix("won ")?.parse().ok()) {
            let (_, record) = runtime.block_on(store.get(id)).unwrap().unwrap();
            assert_eq!(record.unwrap().decided_by, by);
            won.push(id);
        }
        assert!(child.wait().unwrap().success());
    }
    won.sort_unstable();
    assert_eq!(won, asked.iter().map(|waiting| waiting.request.id).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_write_waits_for_another_process_and_a_read_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    store.put_value("a", "before").await.unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; UPDATE facts SET value = 'theirs'").unwrap();
    let write = store.put_value("a", "ours");
    assert_eq!(store.value("a").await.unwrap().as_deref(), Some("before"));
    other.execute_batch("COMMIT").unwrap();
    write.await.unwrap();
    assert_eq!(store.value("a").await.unwrap().as_deref(), Some("ours"));
}

#[test]
fn many_may_make_the_file_at_once() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/store.db");
        let opened: Vec<_> = std::thread::scope(|scope| {
            let open = || SqliteStore::open(&path).map(drop);
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for result in opened {
            result.unwrap();
        }
    }
}
