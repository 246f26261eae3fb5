//! Ctrl-C, and the signal that ends services: the first one stops the run, the second one exits.

use toolcrib_agent::driver::RunControl;

/// Exit code of an interrupted command.
pub(crate) const EXIT_INTERRUPTED: i32 = 130;

/// Stops this run on a signal.
pub(crate) fn stop_on_signal(control: &RunControl) {
    let control = control.clone();
    tokio::spawn(async move {
        while asked_to_stop().await {
            if control.is_stopped() {
                crate::terminal::restore_terminal();
                std::process::exit(EXIT_INTERRUPTED);
            }
            control.stop();
        }
    });
}

/// Waits for either signal; returns `false` if signals are not available.
#[cfg(unix)]
pub(crate) async fn asked_to_stop() -> bool {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return tokio::signal::ctrl_c().await.is_ok();
    };
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.is_ok(),
        terminated = terminated.recv() => terminated.is_some(),
    }
}

#[cfg(not(unix))]
pub(crate) async fn asked_to_stop() -> bool {
    tokio::signal::ctrl_c().await.is_ok()
}
