//! Switch watcher: polls for switches set by another process, a command or the kill switch file.
//! They take effect in this process before a call would start with stale switches, and the kill
//! switch cancels running calls. It also picks up newly saved scripts.

use std::time::Duration;

use tokio::task::JoinHandle;
use toolcrib_core::{CallId, StoreError};
use toolcrib_engine::SWITCH_CACHE_TTL;

use crate::state_changes::StateChanges;
use crate::toolcrib::Toolcrib;

/// Poll interval while calls run: half of the age at which known switches expire
/// ([`SWITCH_CACHE_TTL`]), so that calls find current switches and need not read the store
/// themselves.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Number of polls without a call after which the watcher sleeps, one second's worth. The next call
/// reads the switches itself, and wakes the watcher.
const POLLS_UNTIL_SLEEP: u32 = 40;

/// Shortest time between two reads of the saved scripts; a person notices a saved script at once.
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
    /// reported to `told`. While no call runs, the watcher sleeps until one of `changes`.
    pub fn watch_switches(
        &self,
        changes: StateChanges,
        told: impl Fn(SwitchEvent) + Send + Sync + 'static,
    ) -> SwitchWatcher {
        let scripts = poll_scripts(self.clone(), changes.clone());
        let switches = poll_switches(self.clone(), changes, told);
        SwitchWatcher(tokio::spawn(async move {
            tokio::join!(switches, scripts);
        }))
    }
}

async fn poll_switches(toolcrib: Toolcrib, mut changes: StateChanges, told: impl Fn(SwitchEvent)) {
    let mut fails = false;
    let mut quiet_polls = 0;
    let stop_running = || {
        let stopped = toolcrib.stop_calls();
        if !stopped.is_empty() {
            told(SwitchEvent::Stopped(stopped));
        }
    };
    loop {
        // The first poll comes after one interval: the switches were read at start.
        tokio::time::sleep(POLL_INTERVAL).await;
        let is_quiet = toolcrib.engine().active_call_count() == 0;
        quiet_polls = if is_quiet { quiet_polls + 1 } else { 0 };
        if quiet_polls > POLLS_UNTIL_SLEEP {
            let calls_start = sleep_until_needed(&toolcrib, &mut changes).await;
            quiet_polls = if calls_start { 0 } else { POLLS_UNTIL_SLEEP };
        }
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

/// Sleeps until a call starts or the state changes; returns whether a call did.
async fn sleep_until_needed(toolcrib: &Toolcrib, changes: &mut StateChanges) -> bool {
    // A call that still finds fresh switches starts without a notification; it shows in the table.
    tokio::time::sleep(SWITCH_CACHE_TTL).await;
    if toolcrib.engine().active_call_count() > 0 {
        return true;
    }
    tokio::select! {
        () = toolcrib.engine().switches_found_stale() => true,
        () = changes.next(Duration::ZERO) => false,
    }
}

/// Polls concurrently with the switches: loading tools may take long, and the kill switch must not
/// wait for it.
async fn poll_scripts(toolcrib: Toolcrib, mut changes: StateChanges) {
    loop {
        changes.next(SCRIPT_POLL_INTERVAL).await;
        toolcrib.refresh_scripts().await;
    }
}
