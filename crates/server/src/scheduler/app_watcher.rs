//! Follows the paired apps: attaches and detaches their tools when another process changes them,
//! and checks their health.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use toolcrib_app::StateChanges;

use crate::run_supervisor::RunSupervisor;

/// Shortest time between two reads of the apps.
const LOOK: Duration = Duration::from_secs(1);

/// Watches until the daemon is told to stop.
pub(crate) async fn run_app_watcher(supervisor: &RunSupervisor, mut changes: StateChanges) {
    let toolcrib = supervisor.toolcrib();
    let apps = toolcrib.apps();
    let interval = toolcrib.app_health_interval();
    let mut checked: HashMap<String, Instant> = HashMap::new();
    // A slow app delays the check of no other.
    let mut checks = JoinSet::new();
    loop {
        match apps.refresh(toolcrib.catalog()).await {
            Ok(all) => {
                checked.retain(|id, _| all.iter().any(|app| app.id == *id));
                for app in all {
                    let is_due = checked.get(&app.id).is_none_or(|at| at.elapsed() >= interval);
                    if is_due {
                        checked.insert(app.id.clone(), Instant::now());
                        let apps = apps.clone();
                        checks.spawn(async move {
                            if let Err(error) = apps.check(&app).await {
                                tracing::warn!(app = %app.name, %error, "an app was not checked");
                            }
                        });
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "the paired apps could not be read"),
        }
        while checks.try_join_next().is_some() {}
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => return,
            () = changes.next_within(LOOK, next_check(&checked, interval)) => {}
        }
    }
}

/// Returns the time until the next health check is due; without apps, one interval.
fn next_check(checked: &HashMap<String, Instant>, interval: Duration) -> Duration {
    let times = checked.values().map(|at| interval.saturating_sub(at.elapsed()));
    times.min().unwrap_or(interval)
}
