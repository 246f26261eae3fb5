//! The loop that looks for goals.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::follow::pursue;
use crate::run_supervisor::RunSupervisor;

/// Time between two looks: a goal that a process starts begins within it.
const LOOK: Duration = Duration::from_secs(1);
/// The tool whose presence says that goals are on.
const GOAL_PURSUIT: &str = "goal_pursuit";

/// Pursues goals until the daemon is told to stop.
pub(crate) async fn run_pursuits(supervisor: &RunSupervisor) {
    let mut pursuits: JoinSet<String> = JoinSet::new();
    let mut followed: HashSet<String> = HashSet::new();
    loop {
        while let Some(ended) = pursuits.try_join_next() {
            if let Ok(id) = ended {
                followed.remove(&id);
            }
        }
        if pursuits.is_empty() {
            // Also those whose task panicked.
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
            () = tokio::time::sleep(LOOK) => {}
        }
    }
    // The runs are paused or recovered like any; another process follows them.
    while pursuits.join_next().await.is_some() {}
}

/// Whether the feature switch `goals` is on.
fn is_on(supervisor: &RunSupervisor) -> bool {
    let view = supervisor.toolcrib().catalog().view(&Arc::default());
    view.find(GOAL_PURSUIT).is_some()
}
