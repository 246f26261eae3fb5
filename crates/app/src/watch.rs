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

/// How many looks there are from one look at the scripts that are kept as tools to the next: a second, so that a saved one is there at once, as far as
/// people can tell.
const LOOKS_AT_SCRIPTS: u32 = 20;

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
        Watching(tokio::spawn(watch(self.clone(), told)))
    }
}

async fn watch(toolcrib: Toolcrib, told: impl Fn(Found)) {
    // They were read when the process began.
    let mut look = tokio::time::interval_at(Instant::now() + LOOK, LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut fails, mut looks) = (false, 0);
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
        looks = (looks + 1) % LOOKS_AT_SCRIPTS;
        if looks == 0 {
            toolcrib.refresh_scripts().await;
        }
    }
}
