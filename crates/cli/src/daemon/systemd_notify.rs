//! Notifications to systemd (`Type=notify`, `WatchdogSec=`); none without `NOTIFY_SOCKET`.

use sd_notify::NotifyState;
use tokio::task::JoinHandle;
use toolcrib_app::Toolcrib;

/// Reports that the daemon is ready.
pub(super) fn ready() {
    notify(NotifyState::Ready);
}

/// Reports that the daemon is stopping.
pub(super) fn stopping() {
    notify(NotifyState::Stopping);
}

/// Reports regularly that the daemon is alive, for as long as the store responds. systemd restarts
/// a silent service.
pub(super) fn watchdog(toolcrib: &Toolcrib) -> Option<JoinHandle<()>> {
    // Twice as often as required.
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
    // The service manager may have ended; the daemon continues.
    let _ = sd_notify::notify(&[state]);
}
