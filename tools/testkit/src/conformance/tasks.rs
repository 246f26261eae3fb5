//! Tasks of a scheduler.

use toolcrib_core::{
    Author, RunId, StoreError, Task, TaskId, TaskKind, TaskLease, TaskStatus, TaskStore,
    TaskTrigger,
};

/// A due task is found at its time and claimed once. Needs an empty store.
///
/// # Panics
/// When the store does something else.
pub async fn tasks(store: &dyn TaskStore) {
    assert_eq!(store.next_wake().await.unwrap(), None);
    they_are_stored_and_removed(store).await;
    the_earliest_wakes_first(store).await;
    one_claim_succeeds(store).await;
}

fn task(owner: &str, due_at: Option<i64>) -> Task {
    let trigger = TaskTrigger::Cron { cron: "0 9 * * *".into() };
    Task {
        description: "water the plants".into(),
        prompt: "Remind me.\u{0}".into(),
        zone: "Europe/Berlin".into(),
        due_at,
        author: Author::person("ann"),
        ..Task::new(TaskId::fresh(), owner.into(), TaskKind::Run, trigger, 1)
    }
}

async fn they_are_stored_and_removed(store: &dyn TaskStore) {
    let (one, two) = (task("a", None), task("a", None));
    store.add_task(one.clone()).await.unwrap();
    store.add_task(two.clone()).await.unwrap();
    store.add_task(task("b", None)).await.unwrap();
    let again = store.add_task(one.clone()).await;
    assert_eq!(again, Err(StoreError::Conflict(one.id.to_string())));
    assert_eq!(store.tasks("a").await.unwrap(), [one.clone(), two.clone()]);
    assert_eq!(store.task(one.id).await.unwrap(), Some(one.clone()));
    assert!(store.remove_task(one.id).await.unwrap());
    assert!(!store.remove_task(one.id).await.unwrap());
    assert_eq!(store.task(one.id).await.unwrap(), None);
    let gone = store.put_task(one.clone()).await;
    assert_eq!(gone, Err(StoreError::Missing(one.id.to_string())));
    assert_eq!(store.next_wake().await.unwrap(), None);
}

async fn the_earliest_wakes_first(store: &dyn TaskStore) {
    let due = [task("a", Some(300)), task("b", Some(100)), task("c", Some(200))];
    for task in &due {
        store.add_task(task.clone()).await.unwrap();
    }
    assert_eq!(store.next_wake().await.unwrap(), Some(100));
    let ids = async |until, limit| {
        let waking = store.waking_tasks(until, limit).await.unwrap();
        waking.into_iter().map(|task| task.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(99, 9).await, []);
    assert_eq!(ids(200, 9).await, [due[1].id, due[2].id]);
    assert_eq!(ids(900, 2).await, [due[1].id, due[2].id]);
    let paused = Task { status: TaskStatus::Paused, ..due[1].clone() };
    assert_eq!(store.put_task(paused).await.unwrap(), 2);
    assert_eq!(ids(900, 9).await, [due[2].id, due[0].id]);
    for task in due {
        store.remove_task(task.id).await.unwrap();
    }
}

async fn one_claim_succeeds(store: &dyn TaskStore) {
    let due = task("a", Some(100));
    store.add_task(due.clone()).await.unwrap();
    let claim = |until| Task {
        status: TaskStatus::Running,
        lease: Some(TaskLease {
            run: Some(RunId::fresh()),
            due_at: 100,
            event: None,
            claimed_at: 110,
            until,
        }),
        ..due.clone()
    };
    let (left, right) = tokio::join!(store.put_task(claim(500)), store.put_task(claim(600)));
    assert!(left.is_ok() != right.is_ok(), "{left:?} {right:?}");
    // Until its claim ends, nothing is due; then it is looked at again.
    let until = if left.is_ok() { 500 } else { 600 };
    assert_eq!(store.next_wake().await.unwrap(), Some(until));
    let found = store.task(due.id).await.unwrap().unwrap();
    assert_eq!((found.revision, found.lease.unwrap().until), (2, until));
    // A process whose claim was taken over settles nothing.
    let late = store.put_task(Task { status: TaskStatus::Completed, ..due.clone() }).await;
    assert_eq!(late, Err(StoreError::Conflict(due.id.to_string())));
    store.remove_task(due.id).await.unwrap();
}
