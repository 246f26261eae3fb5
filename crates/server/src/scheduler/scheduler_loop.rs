//! The loop that claims due tasks.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use toolcrib_assistant::task::claim_due;
use toolcrib_core::{Clock as _, StoreError, SystemClock, TaskKind};

use super::execution::execute;
use crate::run_supervisor::RunSupervisor;

/// Longest time between two looks: a task that another process adds starts within it.
const LOOK: Duration = Duration::from_secs(1);
/// Shortest time between two looks, while something due cannot be claimed.
const SHORTEST: Duration = Duration::from_millis(20);
/// Tasks that a daemon runs at a time: each asks a model, and after a night without power dozens
/// are due at once. The others wait for their turn.
const AT_A_TIME: usize = 4;
/// Looks between two looks at the settings of the heartbeat.
const LOOKS_PER_SETTINGS: u32 = 10;
/// Owner of the heartbeat that the configuration describes.
const OWNER: &str = "";
/// The tools whose presence says that scheduling, or alarms, are on.
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
            // The next one has its turn.
            Some(_) = running.tasks.join_next() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
    // Each gives its claim back; the runs are paused or recovered like any.
    while running.alarms.join_next().await.is_some() {}
    while running.tasks.join_next().await.is_some() {}
}

/// What was claimed and has not ended.
#[derive(Default)]
struct Running {
    /// Alarms and notifications: they ask no model, and wait for no other.
    alarms: JoinSet<()>,
    tasks: JoinSet<()>,
}

/// Claims what is due; returns the time until the next look.
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

/// Whether a tool is on.
fn is_on(supervisor: &RunSupervisor, tool: &str) -> bool {
    let view = supervisor.toolcrib().catalog().view(&Arc::default());
    view.find(tool).is_some()
}
