//! Notifications to systemd (`Type=notify`, `WatchdogSec=`); none without `NOTIFY_SOCKET`.

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

/// Says again and again that it lives, for as long as the store answers. systemd restarts what is
/// silent.
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
    // The service manager may have gone; the daemon continues.
    let _ = sd_notify::notify(&[state]);
}
