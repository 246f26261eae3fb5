//! Reads the SMS that arrive on the phone, while the person has opted in.

use std::time::Duration;

use toolcrib_sms::SmsError;

use crate::run_supervisor::RunSupervisor;

/// Time between two looks at the phone.
const LOOK: Duration = Duration::from_secs(15);
/// Longest time between two looks while the phone cannot be read.
const LONGEST: Duration = Duration::from_secs(300);
/// A tool that is available only while reading SMS is enabled.
const SMS_TOOL: &str = "check_sms";

/// Watches until the daemon is told to stop.
pub(crate) async fn run_sms_watcher(supervisor: &RunSupervisor) {
    let mut pause = LOOK;
    loop {
        let looked = tokio::select! {
            () = supervisor.shutdown_token().cancelled() => return,
            looked = look(supervisor) => looked,
        };
        pause = match looked {
            Ok(()) => LOOK,
            Err(error) => {
                tracing::warn!(%error, "the SMS of the phone could not be read");
                (pause * 2).min(LONGEST)
            }
        };
        tokio::select! {
            () = supervisor.shutdown_token().cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Stores what is new; without the opt-in, nothing is asked of the phone.
async fn look(supervisor: &RunSupervisor) -> Result<(), SmsError> {
    let toolcrib = supervisor.toolcrib();
    let may_read = toolcrib.sms().phones.get()?.is_some_and(|phone| phone.read);
    let view = toolcrib.catalog().view(&std::sync::Arc::default());
    if !may_read || view.find(SMS_TOOL).is_none() {
        return Ok(());
    }
    match toolcrib.sms().receive().await {
        Ok(0) | Err(SmsError::Off(_)) => Ok(()),
        Ok(count) => {
            tracing::info!(count, "SMS arrived");
            Ok(())
        }
        Err(error) => Err(error),
    }
}
