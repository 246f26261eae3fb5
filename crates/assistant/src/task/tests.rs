//! Tasks from their creation to their end, with a fake clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use toolcrib_core::{
    Author, CallId, Clock, MailFilter, RunId, StoreError, Surroundings, Task, TaskEvent, TaskKind,
    TaskStatus, TaskStore,
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
        surroundings: Surroundings::default(),
        agent: String::new(),
        author: Author::person("ann"),
        depth: 0,
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
    // An empty text counts as absent, and a time half a minute ago as now.
    let now = When { cron: Some(" ".into()), ..at("2026-11-26T11:59:30Z") };
    assert_eq!(tasks.add(new(now)).await.unwrap().due_at, Some(NOON - MINUTE / 2));
}

struct At;

impl At {
    fn past() -> When {
        at("2026-11-26T11:00:00Z")
    }
}

fn of_model(depth: u32) -> NewTask {
    let author = Author { call: Some(CallId::fresh()), ..Author::default() };
    NewTask { author, depth, ..new(cron("0 9 * * *")) }
}

/// One run that schedules tasks endlessly, instead of tasks that create tasks.
#[tokio::test]
async fn models_make_a_bounded_number_of_open_tasks() {
    let store = Arc::new(MemoryTasks::default());
    let now = Arc::new(AtomicI64::new(NOON));
    let tasks = Tasks::new(store, Arc::new(|_: &str| false))
        .with_clock(Arc::new(TestClock(Arc::clone(&now))));
    let first = tasks.add(of_model(0)).await.unwrap();
    for made in 1..MAX_MODEL_TASKS {
        if made % MAX_MODEL_TASKS_PER_HOUR == 0 {
            assert_eq!(tasks.add(of_model(0)).await, Err(TaskError::TooManyPerHour));
            now.fetch_add(60 * MINUTE, Ordering::Relaxed);
        }
        tasks.add(of_model(0)).await.unwrap();
    }
    assert_eq!(tasks.add(of_model(0)).await, Err(TaskError::ModelsFull));
    // The person still can, and so can models once one task is gone.
    tasks.add(new(cron("0 9 * * *"))).await.unwrap();
    tasks.cancel("ann", first.id).await.unwrap();
    tasks.add(of_model(0)).await.unwrap();
}

#[tokio::test]
async fn tasks_that_make_tasks_come_to_an_end() {
    let (tasks, _) = tasks();
    assert_eq!(tasks.add(of_model(MAX_DEPTH)).await.unwrap().depth, MAX_DEPTH);
    assert_eq!(tasks.add(of_model(MAX_DEPTH + 1)).await, Err(TaskError::TooDeep));
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
    // The machine was suspended for three hours and five minutes.
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
    // If it is on time, the message does not mention it.
    let claimed = claim(&task, due + 500).unwrap();
    assert!(!run_message(&claimed, due + 500).contains("late"));
    // The clock was set back during the run: the same time does not come again.
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
    // The first scheduler died: after its claim ends, the same execution continues.
    let taken = claim(&one, due + LEASE_MS).unwrap();
    assert_eq!(taken.lease.as_ref().unwrap().due_at, due);
    store.put_task(taken).await.unwrap();
    let late = settle(&one, &ended(true), due + LEASE_MS).unwrap();
    assert!(matches!(store.put_task(late).await, Err(StoreError::Conflict(_))));
}

#[tokio::test]
async fn an_alarm_rings_every_minute_until_it_is_dismissed() {
    let (tasks, store) = tasks();
    let alarm = |when| NewTask { kind: TaskKind::Alarm, ..new(when) };
    let once = tasks.add(alarm(at("2026-11-26T13:00:00Z"))).await.unwrap();
    assert!(matches!(tasks.dismiss("ann", once.id).await, Err(TaskError::State(_))));
    let due = once.due_at.unwrap();
    let mut ringing = once.clone();
    for ring in 0..3 {
        let now = due + ring * MINUTE;
        let claimed = claim(&ringing, now).unwrap();
        // The time of the first ring is kept.
        assert_eq!(claimed.lease.as_ref().unwrap().due_at, due);
        ringing = rung(&claimed, now).unwrap();
        assert_eq!((ringing.status, ringing.due_at), (TaskStatus::Pending, Some(now + MINUTE)));
    }
    assert!(
        alarm_message(&claim(&ringing, due + 3 * MINUTE).unwrap(), due + 3 * MINUTE)
            .ends_with("(since 2026-11-26T13:00:00+00:00)")
    );
    store.put_task(ringing.clone()).await.unwrap();
    let over = tasks.dismiss("ann", once.id).await.unwrap();
    assert_eq!((over.status, over.rings, over.due_at), (TaskStatus::Completed, 0, None));
    assert_eq!((over.history[0].ok, over.history[0].due_at), (true, due));
    // An alarm that no person dismisses ends automatically.
    let mut alone = claim(&once, due).unwrap();
    for ring in 1..=i64::from(MAX_RINGS) {
        alone = rung(&alone, due + ring * MINUTE).unwrap();
        alone = claim(&alone, due + (ring + 1) * MINUTE).unwrap_or(alone);
    }
    assert_eq!(alone.status, TaskStatus::Completed);
    assert_eq!((alone.history[0].ok, &*alone.history[0].result), (false, "It was not dismissed."));
    // A repeated alarm waits for its next time.
    let daily = tasks.add(alarm(cron("0 13 * * *"))).await.unwrap();
    let ringing = rung(&claim(&daily, due).unwrap(), due).unwrap();
    let dismissed = alarm_over(&ringing, true, "", due + MINUTE).unwrap();
    assert_eq!((dismissed.due_at, dismissed.rings), (Some(due + 24 * 60 * MINUTE), 0));
    // The alarm is late, because no daemon ran.
    let claimed = claim(&once, due + 10 * MINUTE).unwrap();
    assert!(alarm_message(&claimed, due + 10 * MINUTE).contains("10 min ago"));
}

#[tokio::test]
async fn events_run_one_after_another_and_none_twice() {
    let (tasks, store) = tasks();
    let hook = When { hook: Some("deploy".into()), ..When::default() };
    let task = tasks.add(new(hook)).await.unwrap();
    assert_eq!((task.status, task.due_at), (TaskStatus::Pending, None));
    let event = |key: &str| TaskEvent { key: key.into(), at: NOON, text: format!("body of {key}") };
    assert!(tasks.add_event("ann", task.id, event("one")).await.unwrap());
    assert!(tasks.add_event("ann", task.id, event("two")).await.unwrap());
    assert!(!tasks.add_event("ann", task.id, event("one")).await.unwrap());
    let mut row = tasks.get("ann", task.id).await.unwrap();
    for key in ["one", "two"] {
        let claimed = claim(&row, row.due_at.unwrap()).unwrap();
        assert_eq!(claimed.lease.as_ref().unwrap().event.as_deref(), Some(key));
        let message = run_message(&claimed, NOON);
        assert!(
            message.ends_with(&format!("\n> body of {key}\n[end of outside text]")),
            "{message}"
        );
        row = settle(&claimed, &ended(key == "one"), NOON + MINUTE).unwrap();
    }
    assert_eq!((row.status, row.due_at, row.events.len()), (TaskStatus::Pending, None, 0));
    store.put_task(row).await.unwrap();
    // The event is still known after it was processed.
    assert!(!tasks.add_event("ann", task.id, event("two")).await.unwrap());
    for at in 0..MAX_EVENTS {
        tasks.add_event("ann", task.id, event(&format!("n{at}"))).await.unwrap();
    }
    let full = tasks.add_event("ann", task.id, event("more")).await;
    assert!(matches!(full, Err(TaskError::State(_))), "{full:?}");
    tasks.pause("ann", task.id).await.unwrap();
    let paused = tasks.add_event("ann", task.id, event("late")).await;
    assert!(matches!(paused, Err(TaskError::State(_))), "{paused:?}");
}

#[tokio::test]
async fn events_that_cannot_be_watched_are_said() {
    let (tasks, _) = tasks();
    let hook = |name: &str| When { hook: Some(name.into()), ..When::default() };
    let change = |glob: &str| When { on_change: Some(glob.into()), ..When::default() };
    let mail = |filter: MailFilter| When { on_mail: Some(filter), ..When::default() };
    for (when, part) in [
        (hook("a/b"), "name of a hook"),
        (hook(&"x".repeat(101)), "name of a hook"),
        (change("/etc/*"), "not a glob below the workspace"),
        (change("../x"), "not a glob below the workspace"),
        (change("a[b"), "not a glob below the workspace"),
        (mail(MailFilter { from: Some("x".repeat(101)), ..MailFilter::default() }), "one line"),
        (When { on_heartbeat: true, ..mail(MailFilter::default()) }, "exactly one"),
        (When { on_heartbeat: true, ..cron("0 9 * * *") }, "exactly one"),
        (When { on_heartbeat: true, ..hook("x") }, "exactly one"),
    ] {
        let error = tasks.add(new(when.clone())).await.expect_err("refused");
        assert!(error.to_string().contains(part), "{when:?}: {error}");
    }
}

#[tokio::test]
async fn mail_starts_a_task_only_if_all_of_its_filters_match() {
    let (tasks, _) = tasks();
    let text = |text: &str| Some(text.to_owned());
    let filter = MailFilter { account: text("Ann@x.org"), from: text("BANK"), subject: text(" ") };
    let made = When { on_mail: Some(filter), ..When::default() };
    let task = tasks.add(new(made)).await.unwrap();
    let (schedule, zone) = super::schedule_of(&task).unwrap();
    assert_eq!(crate::time::describe(&schedule, &zone), "When mail arrives at Ann@x.org from BANK");
    let toolcrib_core::TaskTrigger::Mail { filter } = &task.trigger else { panic!("{task:?}") };
    let names = ["ann", "ann@x.org"];
    assert!(filter.matches(names, "My Bank <a@b.c>", "Anything"));
    assert!(!filter.matches(names, "Bob <b@b.c>", "bank"));
    assert!(!filter.matches(["work", "w@x.org"], "bank", "s"));
    assert!(MailFilter::default().matches(names, "", ""));
    // The store returns it as it was written.
    assert_eq!(tasks.get("ann", task.id).await.unwrap().trigger, task.trigger);
}
