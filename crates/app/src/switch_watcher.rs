//! Switch watcher: polls for switches set by another process, a command or the kill switch file.
//! They take effect in this process before a call would start with stale switches, and the kill
//! switch cancels running calls. It also picks up newly saved scripts.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};
use toolcrib_core::{CallId, StoreError};

use crate::toolcrib::Toolcrib;

/// Poll interval: half of the age at which known switches expire
/// ([`SWITCH_CACHE_TTL`](crate::SWITCH_CACHE_TTL)), so that calls find current switches and need
/// not read the store themselves.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Poll interval for saved scripts; a person notices a saved script at once.
const SCRIPT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// An event for the caller.
#[derive(Debug)]
pub enum SwitchEvent {
    /// The kill switch stopped these calls.
    Stopped(Vec<CallId>),
    /// The switches cannot be read; reported once, until they can be read again. Calls report it
    /// themselves.
    Unreadable(StoreError),
}

/// Watches until this handle is dropped.
#[must_use = "dropped, it watches no longer"]
pub struct SwitchWatcher(JoinHandle<()>);

impl Drop for SwitchWatcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Toolcrib {
    /// Starts watching on the current Tokio runtime. Changes take effect in this Toolcrib and are
    /// reported to `told`.
    pub fn watch_switches(
        &self,
        told: impl Fn(SwitchEvent) + Send + Sync + 'static,
    ) -> SwitchWatcher {
        let (switches, scripts) = (poll_switches(self.clone(), told), poll_scripts(self.clone()));
        SwitchWatcher(tokio::spawn(async move {
            tokio::join!(switches, scripts);
        }))
    }
}

async fn poll_switches(toolcrib: Toolcrib, told: impl Fn(SwitchEvent)) {
    // The first poll comes after one interval: the switches were read at start.
    let mut look = tokio::time::interval_at(Instant::now() + POLL_INTERVAL, POLL_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut fails = false;
    let stop_running = || {
        let stopped = toolcrib.stop_calls();
        if !stopped.is_empty() {
            told(SwitchEvent::Stopped(stopped));
        }
    };
    loop {
        look.tick().await;
        // The file takes effect even while the store does not respond.
        stop_running();
        match toolcrib.refresh_switches().await {
            Ok(_) => fails = false,
            Err(error) if !fails => {
                fails = true;
                told(SwitchEvent::Unreadable(error));
            }
            Err(_) => {}
        }
        // Covers a switch that was just read, and calls that started in between.
        stop_running();
    }
}

/// Polls concurrently with the switches: loading tools may take long, and the kill switch must not
/// wait for it.
async fn poll_scripts(toolcrib: Toolcrib) {
    let mut look =
        tokio::time::interval_at(Instant::now() + SCRIPT_POLL_INTERVAL, SCRIPT_POLL_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        toolcrib.refresh_scripts().await;
    }
}
