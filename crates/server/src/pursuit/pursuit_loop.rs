//! The loop that reads open goals from the store.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use toolcrib_app::StateChanges;

use super::follow::pursue;
use crate::run_supervisor::RunSupervisor;

/// Shortest time between two reads of the goals: a goal that another process starts begins within
/// this time.
const LOOK: Duration = Duration::from_secs(1);
/// The tool that is available only while goals are enabled.
const GOAL_PURSUIT: &str = "goal_pursuit";

/// Pursues goals until the daemon is told to stop.
pub(crate) async fn run_pursuits(supervisor: &RunSupervisor, mut changes: StateChanges) {
    let mut pursuits: JoinSet<String> = JoinSet::new();
    let mut followed: HashSet<String> = HashSet::new();
    loop {
        while let Some(ended) = pursuits.try_join_next() {
            if let Ok(id) = ended {
                followed.remove(&id);
            }
        }
        if pursuits.is_empty() {
            // Also removes goals whose task panicked.
            followed.clear();
        }
        if is_on(supervisor) {
            match supervisor.toolcrib().goals().to_pursue().await {
                Ok(goals) => {
                    for (owner, goal) in goals {
                        if followed.insert(goal.id.clone()) {
                            pursuits.spawn(pursue(supervisor.clone(), owner, goal));
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "goals could not be read"),
            }
        }
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => break,
            () = changes.next(LOOK) => {}
        }
    }
    // The runs are paused or recovered like any other; another process follows them.
    while pursuits.join_next().await.is_some() {}
}

/// Returns whether the feature switch `goals` is on.
fn is_on(supervisor: &RunSupervisor) -> bool {
    let view = supervisor.toolcrib().catalog().view(&Arc::default());
    view.find(GOAL_PURSUIT).is_some()
}
