//! What systemd is told of a daemon that it started (`Type=notify`, `WatchdogSec=`); nothing where nobody has asked.

use sd_notify::NotifyState;
use tokio::task::JoinHandle;
use toolcrib_app::Toolcrib;

/// It answers from now on.
pub(super) fn ready() {
    notify(NotifyState::Ready);
}

/// It was told to stop.
pub(super) fn stopping() {
    notify(NotifyState::Stopping);
}

/// Says again and again that it lives, for as long as the store answers. systemd restarts what is silent.
pub(super) fn watchdog(toolcrib: &Toolcrib) -> Option<JoinHandle<()>> {
    // Twice as often as it has to be.
    let every = sd_notify::watchdog_enabled()? / 2;
    let toolcrib = toolcrib.clone();
    Some(tokio::spawn(async move {
        loop {
            tokio::time::sleep(every).await;
            if toolcrib.stores().switches.switches("").await.is_ok() {
                notify(NotifyState::Watchdog);
            }
        }
    }))
}

fn notify(state: NotifyState<'_>) {
    // Whoever started it may have gone; the daemon works on.
    let _ = sd_notify::notify(&[state]);
}
