//! The loop that claims due tasks.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use toolcrib_assistant::task::claim_due;
use toolcrib_core::{Clock as _, StoreError, SystemClock, TaskKind};

use super::execution::execute;
use crate::run_supervisor::RunSupervisor;

/// Longest time between two reads of the store: a task that another process adds starts within this
/// time.
const LOOK: Duration = Duration::from_secs(1);
/// Shortest time between two reads, while a due task cannot be claimed.
const SHORTEST: Duration = Duration::from_millis(20);
/// Maximum number of tasks that a daemon runs at once: each makes requests to a model, and after a
/// night without power dozens are due at once. The others wait.
const AT_A_TIME: usize = 4;
/// Number of reads of the store per check of the heartbeat's settings.
const LOOKS_PER_SETTINGS: u32 = 10;
/// Owner of the heartbeat that the configuration describes.
const OWNER: &str = "";
/// The tools that are available only while scheduling, or alarms, are enabled.
const SCHEDULE_TASK: &str = "schedule_task";
const SET_ALARM: &str = "set_alarm";

/// Runs due tasks until the daemon is told to stop.
pub(crate) async fn run_scheduler(supervisor: &RunSupervisor) {
    let mut running = Running::default();
    let mut looks = 0;
    loop {
        if looks % LOOKS_PER_SETTINGS == 0
            && let Err(error) = supervisor.toolcrib().heartbeats().ensure(OWNER).await
        {
            tracing::warn!(%error, "the heartbeat could not be scheduled");
        }
        looks = looks.wrapping_add(1);
        let wait = match look(supervisor, &mut running).await {
            Ok(wait) => wait,
            Err(error) => {
                tracing::warn!(%error, "tasks could not be read");
                LOOK
            }
        };
        while running.alarms.try_join_next().is_some() {}
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => break,
            // A task has ended; the next one can start.
            Some(_) = running.tasks.join_next() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
    // Each task releases its claim; the runs are paused or recovered like any other.
    while running.alarms.join_next().await.is_some() {}
    while running.tasks.join_next().await.is_some() {}
}

/// The claimed tasks that have not ended.
#[derive(Default)]
struct Running {
    /// Alarms and notifications: they make no request to a model, and do not wait for others.
    alarms: JoinSet<()>,
    tasks: JoinSet<()>,
}

/// Claims due tasks; returns the time until the next read.
async fn look(supervisor: &RunSupervisor, running: &mut Running) -> Result<Duration, StoreError> {
    let may_run =
        |kind| is_on(supervisor, if kind == TaskKind::Alarm { SET_ALARM } else { SCHEDULE_TASK });
    let store = &*supervisor.stores().tasks;
    while running.tasks.try_join_next().is_some() {}
    let room = AT_A_TIME.saturating_sub(running.tasks.len());
    let look = claim_due(store, SystemClock.now_ms(), room, may_run).await?;
    for task in look.claimed {
        let set = if task.kind.is_run() { &mut running.tasks } else { &mut running.alarms };
        set.spawn(execute(supervisor.clone(), task));
    }
    if look.is_held {
        return Ok(LOOK);
    }
    let wait = look.next_wake.map(|wake| wake.saturating_sub(SystemClock.now_ms()));
    let wait = wait.map(|wait| Duration::from_millis(u64::try_from(wait).unwrap_or(0)));
    Ok(wait.unwrap_or(LOOK).clamp(SHORTEST, LOOK))
}

/// Returns whether a tool is enabled.
fn is_on(supervisor: &RunSupervisor, tool: &str) -> bool {
    let view = supervisor.toolcrib().catalog().view(&Arc::default());
    view.find(tool).is_some()
}
