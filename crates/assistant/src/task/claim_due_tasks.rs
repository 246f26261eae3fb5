//! Claims due tasks for a scheduler.

use toolcrib_core::{StoreError, Task, TaskKind, TaskStore};

use super::lifecycle::claim;

/// Maximum due tasks that are read at once. More than the maximum number of runs, so that an alarm
/// after tasks that wait for a run is found.
const MOST: usize = 1_000;

/// The due tasks.
#[derive(Debug, Default)]
pub struct DueTasks {
    /// The tasks that were claimed, at their new revisions.
    pub claimed: Vec<Task>,
    /// When the next task is due, or a claim ends; Unix time in milliseconds. It may be in the
    /// past.
    pub next_wake: Option<i64>,
    /// Whether a due task may not run now, or waits for a run.
    pub is_held: bool,
}

/// Claims the tasks that are due at `now` and may run, the earliest first: at most `room` tasks,
/// and all alarms. The others stay due. A task that another scheduler claims meanwhile is skipped.
///
/// # Errors
/// The store fails before a task was claimed. If it fails later, the function returns early,
/// because claimed tasks would otherwise wait for the end of their claims.
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
            // Another process was faster, or the person changed the task.
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
