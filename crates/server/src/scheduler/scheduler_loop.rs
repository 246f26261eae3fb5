//! The loop that claims due tasks.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use toolcrib_app::StateChanges;
use toolcrib_assistant::task::claim_due;
use toolcrib_core::{Clock as _, StoreError, SystemClock, TaskKind};

use super::execution::execute;
use crate::run_supervisor::RunSupervisor;

/// Longest wait: a task that another process adds starts within this time, and so does one that a
/// changed clock makes due.
const LOOK: Duration = Duration::from_secs(1);
/// Shortest time between two reads, while a due task cannot be claimed.
const SHORTEST: Duration = Duration::from_millis(20);
/// Maximum number of tasks that a daemon runs at once: each makes requests to a model, and after a
/// night without power dozens are due at once. The others wait.
const AT_A_TIME: usize = 4;
/// Number of waits until the heartbeat's settings and the tasks are read even without a change.
const LOOKS_PER_SETTINGS: u32 = 10;
/// Owner of the heartbeat that the configuration describes.
const OWNER: &str = "";
/// The tools that are available only while scheduling, or alarms, are enabled.
const SCHEDULE_TASK: &str = "schedule_task";
const SET_ALARM: &str = "set_alarm";

/// Runs due tasks until the daemon is told to stop.
pub(crate) async fn run_scheduler(supervisor: &RunSupervisor, mut changes: StateChanges) {
    let mut running = Running::default();
    let mut looks = 0;
    let mut next_look = 0;
    loop {
        let reads_all = looks % LOOKS_PER_SETTINGS == 0;
        if reads_all && let Err(error) = supervisor.toolcrib().heartbeats().ensure(OWNER).await {
            tracing::warn!(%error, "the heartbeat could not be scheduled");
        }
        looks = looks.wrapping_add(1);
        if changes.take() || reads_all || next_look <= SystemClock.now_ms() {
            next_look = look(supervisor, &mut running).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "tasks could not be read");
                SystemClock.now_ms() + LOOK.as_millis() as i64
            });
        }
        while running.alarms.try_join_next().is_some() {}
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => break,
            // A task has ended; the next one can start.
            Some(_) = running.tasks.join_next() => next_look = 0,
            () = tokio::time::sleep(time_until(next_look)) => {}
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

/// Returns how long to wait for a look at this time, in milliseconds since 1970.
fn time_until(next_look: i64) -> Duration {
    let wait = next_look.saturating_sub(SystemClock.now_ms());
    Duration::from_millis(u64::try_from(wait).unwrap_or(0)).clamp(SHORTEST, LOOK)
}

/// Claims due tasks; returns the time at which to look again, in milliseconds since 1970.
async fn look(supervisor: &RunSupervisor, running: &mut Running) -> Result<i64, StoreError> {
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
    let now = SystemClock.now_ms();
    let soonest = now + SHORTEST.as_millis() as i64;
    Ok(if look.is_held {
        now + LOOK.as_millis() as i64
    } else {
        look.next_wake.map_or(i64::MAX, |wake| wake.max(soonest))
    })
}

/// Returns whether a tool is enabled.
fn is_on(supervisor: &RunSupervisor, tool: &str) -> bool {
    let view = supervisor.toolcrib().catalog().view(&Arc::default());
    view.find(tool).is_some()
}
