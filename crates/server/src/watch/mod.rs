//! Watches for switches that somebody else has set: another daemon, a command, a file. What is found is in force here within 100 ms
//! (issue 6), and a kill switch stops what is at work.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::daemon::Daemon;

/// How often is looked: twice within the time that what is known of switches may be old, so that no call has to look by itself.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Watches until it is dropped.
pub(crate) struct Watched(JoinHandle<()>);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Begins to watch.
pub(crate) fn begin(daemon: &Daemon) -> Watched {
    Watched(tokio::spawn(watch(daemon.clone())))
}

async fn watch(daemon: Daemon) {
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut fails = false;
    loop {
        look.tick().await;
        // The file holds at once, also while the store does not answer.
        stop_running(&daemon);
        match daemon.toolcrib().refresh_switches().await {
            Ok(_) => fails = false,
            // Said once: a store that does not answer says so to every call, too.
            Err(error) if !fails => {
                fails = true;
                tracing::error!(%error, "switches cannot be read; those that were read last hold");
            }
            Err(_) => {}
        }
        // Whatever it was stopped by, and calls that came in between.
        stop_running(&daemon);
    }
}

fn stop_running(daemon: &Daemon) {
    let stopped = daemon.toolcrib().stop_running();
    if !stopped.is_empty() {
        tracing::warn!(calls = stopped.len(), "the kill switch stopped calls");
    }
}
