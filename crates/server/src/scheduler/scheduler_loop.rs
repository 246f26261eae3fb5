//! The loop that claims due tasks.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use toolcrib_app::assistant::task::claim;
use toolcrib_app::core::{Clock as _, StoreError, SystemClock, Task, TaskKind};

use super::execution::execute;
use crate::run_supervisor::RunSupervisor;

/// Longest time between two looks: a task that another process adds starts within it.
const LOOK: Duration = Duration::from_secs(1);
/// Shortest time between two looks, while something due cannot be claimed.
const SHORTEST: Duration = Duration::from_millis(20);
/// Tasks of one look.
const MOST: usize = 64;
/// Looks between two looks at the settings of the heartbeat.
const LOOKS_PER_SETTINGS: u32 = 10;
/// Owner of the heartbeat that the configuration describes.
const OWNER: &str = "";
/// The tools whose presence says that scheduling, or alarms, are on.
const SCHEDULE_TASK: &str = "schedule_task";
const SET_ALARM: &str = "set_alarm";

/// Runs due tasks until the daemon is told to stop.
pub(crate) async fn run_scheduler(supervisor: &RunSupervisor) {
    let mut executions = JoinSet::new();
    let mut looks = 0;
    loop {
        if looks % LOOKS_PER_SETTINGS == 0
            && let Err(error) = supervisor.toolcrib().heartbeats().ensure(OWNER).await
        {
            tracing::warn!(%error, "the heartbeat could not be scheduled");
        }
        looks = looks.wrapping_add(1);
        let wait = match look(supervisor, &mut executions).await {
            Ok(wait) => wait,
            Err(error) => {
                tracing::warn!(%error, "tasks could not be read");
                LOOK
            }
        };
        while executions.try_join_next().is_some() {}
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => break,
            () = tokio::time::sleep(wait) => {}
        }
    }
    // Each gives its claim back; the runs are paused or recovered like any.
    while executions.join_next().await.is_some() {}
}

/// Claims what is due; returns the time until the next look.
async fn look(
    supervisor: &RunSupervisor,
    executions: &mut JoinSet<()>,
) -> Result<Duration, StoreError> {
    let store = &supervisor.stores().tasks;
    let now = SystemClock.now_ms();
    let is_due = store.next_wake().await?.is_some_and(|wake| wake <= now);
    let mut is_held = false;
    if is_due {
        let (tasks, alarms) = (is_on(supervisor, SCHEDULE_TASK), is_on(supervisor, SET_ALARM));
        for task in store.waking_tasks(now, MOST).await? {
            let is_on = if task.kind == TaskKind::Alarm { alarms } else { tasks };
            if !is_on {
                is_held = true;
                continue;
            }
            let Some(claimed) = claim(&task, now) else { continue };
            match store.put_task(claimed.clone()).await {
                Ok(revision) => {
                    let claimed = Task { revision, ..claimed };
                    executions.spawn(execute(supervisor.clone(), claimed));
                }
                // Another process was faster, or the person changed it.
                Err(StoreError::Conflict(_) | StoreError::Missing(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    if is_held {
        return Ok(LOOK);
    }
    let wait = store.next_wake().await?.map(|wake| wake.saturating_sub(SystemClock.now_ms()));
    let wait = wait.map(|wait| Duration::from_millis(u64::try_from(wait).unwrap_or(0)));
    Ok(wait.unwrap_or(LOOK).clamp(SHORTEST, LOOK))
}

/// Whether a tool is on.
fn is_on(supervisor: &RunSupervisor, tool: &str) -> bool {
    let view = supervisor.toolcrib().catalog().view(&Arc::default());
    view.find(tool).is_some()
}
