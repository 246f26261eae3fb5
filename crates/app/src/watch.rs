//! Watches for switches that somebody else has set: another process, a command, a file. What is found is in force here before a call starts
//! on what was known before, and a kill switch stops what is at work. Scripts that somebody keeps as tools are taken up too.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};
use toolcrib_core::{CallId, StoreError};

use crate::toolcrib::Toolcrib;

/// How often is looked: twice within the time that what is known of switches may be old
/// ([`SWITCHES_AGE`](crate::SWITCHES_AGE)), so that no call has to look by itself.
const LOOK: Duration = Duration::from_millis(50);

/// Time between two looks at the scripts that are kept as tools: a saved one is there at once, as far as people can tell.
const LOOK_AT_SCRIPTS: Duration = Duration::from_secs(1);

/// What a look found that somebody may want to be told.
#[derive(Debug)]
pub enum Found {
    /// The kill switch stopped these calls.
    Stopped(Vec<CallId>),
    /// The switches cannot be read; said once, until they can be read again. Calls say so themselves.
    Unreadable(StoreError),
}

/// Watches until it is dropped.
#[must_use = "dropped, it watches no longer"]
pub struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Toolcrib {
    /// Begins to watch, in the runtime that this is called in. What is found is put into force here, and told.
    pub fn watch(&self, told: impl Fn(Found) + Send + Sync + 'static) -> Watching {
        let (switches, scripts) = (watch(self.clone(), told), watch_scripts(self.clone()));
        Watching(tokio::spawn(async move {
            tokio::join!(switches, scripts);
        }))
    }
}

async fn watch(toolcrib: Toolcrib, told: impl Fn(Found)) {
    // They were read when the process began.
    let mut look = tokio::time::interval_at(Instant::now() + LOOK, LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut fails = false;
    let stop_running = || {
        let stopped = toolcrib.stop_running();
        if !stopped.is_empty() {
            told(Found::Stopped(stopped));
        }
    };
    loop {
        look.tick().await;
        // The file holds at once, also while the store does not answer.
        stop_running();
        match toolcrib.refresh_switches().await {
            Ok(_) => fails = false,
            Err(error) if !fails => {
                fails = true;
                told(Found::Unreadable(error));
            }
            Err(_) => {}
        }
        // Whatever it was stopped by, and calls that came in between.
        stop_running();
    }
}

/// Beside the other: somebody may be loading tools, and the kill switch does not wait for that.
async fn watch_scripts(toolcrib: Toolcrib) {
    let mut look = tokio::time::interval_at(Instant::now() + LOOK_AT_SCRIPTS, LOOK_AT_SCRIPTS);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        toolcrib.refresh_scripts().await;
    }
}
