//! Pauses all runs when the daemon stops.

use std::time::Duration;

use toolcrib_agent::driver::RunControl;

use super::supervisor::RunSupervisor;

/// Time for runs to be stored after they were aborted.
const ABORT_GRACE: Duration = Duration::from_secs(5);

/// Tells every driven run to stop at its next step, so that the next daemon can resume it.
pub(crate) fn pause_all(supervisor: &RunSupervisor) {
    for control in controls(supervisor) {
        control.hand_over();
    }
}

/// Pauses all runs and waits for at most the drain time; then aborts the remaining ones. All of
/// them stay in the store, and the next daemon resumes them.
pub(super) async fn shut_down(supervisor: &RunSupervisor) {
    pause_all(supervisor);
    if !wait_until_idle(supervisor, supervisor.settings().drain).await {
        for control in controls(supervisor) {
            control.hand_over_now();
        }
        wait_until_idle(supervisor, ABORT_GRACE).await;
    }
}

fn controls(supervisor: &RunSupervisor) -> Vec<RunControl> {
    supervisor.registry().driven_runs().map(|run| run.control()).collect()
}

/// Waits for at most this time; returns whether no run is driven any more.
async fn wait_until_idle(supervisor: &RunSupervisor, limit: Duration) -> bool {
    let idle = async {
        loop {
            let mut released = std::pin::pin!(supervisor.run_released());
            // Register before the check, so that no release is missed.
            released.as_mut().enable();
            if supervisor.active_count() == 0 {
                return;
            }
            released.await;
        }
    };
    tokio::time::timeout(limit, idle).await.is_ok()
}
