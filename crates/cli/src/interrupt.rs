//! Ctrl-C: the first one stops the run, the second one leaves.

use toolcrib_app::agent::drive::Control;

/// Exit code of an interrupted command (DESIGN 7).
const INTERRUPTED: i32 = 130;

/// Stops this run when the person interrupts.
pub(crate) fn stops(control: &Control) {
    let control = control.clone();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if control.is_stopped() {
                crate::terminal::leave();
                std::process::exit(INTERRUPTED);
            }
            control.stop();
        }
    });
}
