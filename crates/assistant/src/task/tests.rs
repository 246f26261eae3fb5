//! Tasks from making them to their end, on a clock of the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use toolcrib_core::{
    Author, CallId, Clock, ConversationId, RunId, StoreError, Task, TaskKind, TaskStatus, TaskStore,
};
use toolcrib_engine::store::MemoryTasks;

use super::*;

/// 2026-11-26 12:00 UTC.
const NOON: i64 = 1_795_694_400_000;
const MINUTE: i64 = 60_000;

#[derive(Clone)]
struct TestClock(Arc<AtomicI64>);

impl Clock for TestClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn tasks() -> (Tasks, Arc<MemoryTasks>) {
    let store = Arc::new(MemoryTasks::default());
    let clock = Arc::new(TestClock(Arc::new(AtomicI64::new(NOON))));
    let is_secret = Arc::new(|text: &str| text.contains("hunter2"));
    (Tasks::new(Arc::clone(&store) as _, is_secret).with_clock(clock), store)
}

fn new(when: When) -> NewTask {
    NewTask {
        owner: "ann".into(),
        description: "water the plants".into(),
        prompt: "Remind me of the plants.".into(),
        kind: TaskKind::Run,
        when,
        zone: Some("UTC".into()),
        agent: String::new(),
        author: Author::person("ann"),
        conversation: String::new(),
        untrusted: None,
    }
}

fn cron(text: &str) -> When {
    When { cron: Some(text.into()), ..When::default() }
}

fn at(text: &str) -> When {
    When { execute_at: Some(text.into()), ..When::default() }
}

fn ended(ok: bool) -> Ended {
    Ended { ok, result: "done".into(), run: Some(RunId::fresh()), ..Ended::default() }
}

#[tokio::test]
async fn what_cannot_be_scheduled_is_said() {
    let (tasks, _) = tasks();
    let both = When { cron: Some("0 9 * * *".into()), ..at("2026-12-01T09:00") };
    for (when, part) in [
        (When::default(), "either execute_at or cron"),
        (both, "either execute_at or cron"),
        (At::past(), "now it is 2026-11-26T12:00:00+00:00"),
        (at("2026-02-31T09:00"), "not a date and time that exists"),
        (cron("0 9 31 2 *"), "never matches"),
        (cron("often"), "not a cron expression"),
    ] {
        let error = tasks.add(new(when.clone())).await.expect_err("refused");
        assert!(error.to_string().contains(part), "{when:?}: {error}");
    }
    let secret = NewTask { prompt: "use hunter2".into(), ..new(cron("0 9 * * *")) };
    assert_eq!(tasks.add(secret).await, Err(TaskError::Secret));
    let empty = NewTask { prompt: " ".into(), ..new(cron("0 9 * * *")) };
    assert_eq!(tasks.add(empty).await, Err(TaskError::BadText));
    // An empty text counts as absent, and a time of half a minute ago as now.
    let now = When { cron: Some(" ".into()), ..at("2026-11-26T11:59:30Z") };
    assert_eq!(tasks.add(new(now)).await.unwrap().due_at, Some(NOON - MINUTE / 2));
}

struct At;

impl At {
    fn past() -> When {
        at("2026-11-26T11:00:00Z")
    }
}

#[tokio::test]
async fn tasks_that_make_tasks_come_to_an_end() {
    let (tasks, store) = tasks();
    let mut parent = tasks.add(new(cron("0 9 * * *"))).await.unwrap();
    for depth in 1..=MAX_DEPTH + 1 {
        let conversation = ConversationId::fresh();
        let held = Task { conversation: Some(conversation), ..parent.clone() };
        store.put_task(held).await.unwrap();
        let child = NewTask {
            conversation: conversation.to_string(),
            author: Author { call: Some(CallId::fresh()), ..Author::default() },
            ..new(cron("0 9 * * *"))
        };
        match tasks.add(child).await {
            Ok(child) => {
                assert_eq!(child.depth, depth);
                parent = child;
            }
            Err(error) => {
                assert_eq!((depth, error), (MAX_DEPTH + 1, TaskError::TooDeep));
                return;
            }
        }
    }
    panic!("the chain never ended");
}

#[tokio::test]
async fn a_text_from_outside_waits_for_a_person() {
    let (tasks, store) = tasks();
    let outside = NewTask { untrusted: Some("fetch_url".into()), ..new(cron("0 9 * * *")) };
    let task = tasks.add(outside).await.unwrap();
    assert_eq!((task.status, store.next_wake().await.unwrap()), (TaskStatus::Paused, None));
    let resumed = tasks.resume("ann", task.id).await.unwrap();
    assert_eq!((resumed.status, resumed.untrusted), (TaskStatus::Pending, None));
    assert!(store.next_wake().await.unwrap().is_some());
    assert!(matches!(tasks.get("bob", task.id).await, Err(TaskError::Unknown(_))));
}

#[tokio::test]
async fn a_missed_run_runs_once_and_says_how_late() {
    let (tasks, _) = tasks();
    let task = tasks.add(new(cron("0 * * * *"))).await.unwrap();
    let due = task.due_at.unwrap();
    assert_eq!(due, NOON + 60 * MINUTE);
    assert_eq!(claim(&task, due - 1), None);
    // The machine slept for three hours and five minutes.
    let woke = due + 185 * MINUTE;
    let claimed = claim(&task, woke).unwrap();
    let message = run_message(&claimed, woke);
    assert!(
        message.contains("due at 2026-11-26T13:00:00+00:00; it runs 3 h 5 min late"),
        "{message}"
    );
    let settled = settle(&claimed, &ended(true), woke + MINUTE).unwrap();
    assert_eq!(settled.history[0].missed, 3);
    assert_eq!(settled.due_at, Some(due + 240 * MINUTE));
    // On time, nothing is said.
    let claimed = claim(&task, due + 500).unwrap();
    assert!(!run_message(&claimed, due + 500).contains("late"));
    // The clock was set back while it ran: the same time does not come again.
    let settled = settle(&claimed, &ended(true), due - 30 * MINUTE).unwrap();
    assert_eq!(settled.due_at, Some(due + 60 * MINUTE));
}

#[tokio::test]
async fn a_failed_run_is_tried_again_or_waits_for_its_next_time() {
    let (tasks, _) = tasks();
    let mut once = tasks.add(new(at("2026-11-26T13:00:00Z"))).await.unwrap();
    let mut waits = Vec::new();
    while let Some(due) = once.due_at {
        let claimed = claim(&once, due).unwrap();
        once = settle(&claimed, &ended(false), due).unwrap();
        waits.extend(once.due_at.map(|next| (next - due) / MINUTE));
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60]);
    assert_eq!((once.status, once.history.len()), (TaskStatus::Completed, 8));
    let hourly = tasks.add(new(cron("0 * * * *"))).await.unwrap();
    let due = hourly.due_at.unwrap();
    let failed = settle(&claim(&hourly, due).unwrap(), &ended(false), due).unwrap();
    assert_eq!((failed.due_at, failed.consecutive_failures), (Some(due + 60 * MINUTE), 1));
    let again = claim(&failed, failed.due_at.unwrap()).unwrap();
    assert_eq!(settle(&again, &ended(true), due + 61 * MINUTE).unwrap().consecutive_failures, 0);
}

#[tokio::test]
async fn of_several_schedulers_one_runs_it_and_another_takes_over() {
    let (tasks, store) = tasks();
    let task = tasks.add(new(cron("0 * * * *"))).await.unwrap();
    let due = task.due_at.unwrap();
    let (one, two) = (claim(&task, due).unwrap(), claim(&task, due + 1).unwrap());
    let revision = store.put_task(one.clone()).await.unwrap();
    assert!(matches!(store.put_task(two).await, Err(StoreError::Conflict(_))));
    let one = Task { revision, ..one };
    assert_eq!(claim(&one, due + LEASE_MS - 1), None);
    // The first one died: after its claim the same execution goes on.
    let taken = claim(&one, due + LEASE_MS).unwrap();
    assert_eq!(taken.lease.as_ref().unwrap().due_at, due);
    store.put_task(taken).await.unwrap();
    let late = settle(&one, &ended(true), due + LEASE_MS).unwrap();
    assert!(matches!(store.put_task(late).await, Err(StoreError::Conflict(_))));
}
