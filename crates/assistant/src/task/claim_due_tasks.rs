//! Claims the tasks that are due, for a scheduler.

use toolcrib_core::{StoreError, Task, TaskKind, TaskStore};

use super::lifecycle::claim;

/// Due tasks that one look reads at most. More than there can be runs, so that an alarm behind
/// tasks that wait for their turn is found.
const MOST: usize = 1_000;

/// The tasks that were due.
#[derive(Debug, Default)]
pub struct DueTasks {
    /// The tasks that were claimed, at their new revisions.
    pub claimed: Vec<Task>,
    /// When the next task is due, or a claim ends; Unix time in milliseconds. It may have passed.
    pub next_wake: Option<i64>,
    /// Whether something is due that may not run now, or waits for its turn.
    pub is_held: bool,
}

/// Claims what is due at `now` and may run, at most `room` tasks beside alarms, the earliest first:
/// the others stay due. A task that another scheduler claims meanwhile is left
/// to it.
///
/// # Errors
/// The store fails before something was claimed; afterwards it ends early instead, because
/// what it has claimed would wait for the end of its claim otherwise.
pub async fn claim_due(
    store: &dyn TaskStore,
    now: i64,
    room: usize,
    may_run: impl Fn(TaskKind) -> bool,
) -> Result<DueTasks, StoreError> {
    let mut due = DueTasks { next_wake: store.next_wake().await?, ..DueTasks::default() };
    if due.next_wake.is_none_or(|wake| wake > now) {
        return Ok(due);
    }
    let mut room = room;
    for task in store.waking_tasks(now, MOST).await? {
        let is_run = task.kind.is_run();
        if !may_run(task.kind) || (room == 0 && is_run) {
            due.is_held = true;
            continue;
        }
        let Some(claimed) = claim(&task, now) else { continue };
        match store.put_task(claimed.clone()).await {
            Ok(revision) => {
                room = room.saturating_sub(usize::from(is_run));
                due.claimed.push(Task { revision, ..claimed });
            }
            // Another process was faster, or the person changed it.
            Err(StoreError::Conflict(_) | StoreError::Missing(_)) => {}
            Err(_) if !due.claimed.is_empty() => return Ok(due),
            Err(error) => return Err(error),
        }
    }
    if let Ok(next) = store.next_wake().await {
        due.next_wake = next;
    }
    Ok(due)
}
