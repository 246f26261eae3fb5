//! Facts about a run from its stored state, without its messages.

use toolcrib_agent::machine::{Pending, PendingKind, RunEnd};
use toolcrib_core::{RunStatus, StoredRun};

/// Returns why a stored run waits or how it ended, with a message if the status alone is not
/// sufficient.
#[must_use]
pub fn status_text(run: &StoredRun) -> (Option<String>, Option<String>) {
    match run.status {
        RunStatus::Running => (None, None),
        RunStatus::Paused => {
            let waits = pending_questions(run);
            let asks = |wait: &Pending| matches!(wait.what, PendingKind::Answer(_));
            let status =
                if waits.iter().any(asks) { "clarification_needed" } else { "approval_needed" };
            (Some(status.to_owned()), None)
        }
        RunStatus::Ended => {
            let end = run.state.pointer("/state/phase/end").cloned().unwrap_or_default();
            match serde_json::from_value::<RunEnd>(end) {
                Ok(end) => {
                    let message = match &end {
                        RunEnd::Failed { message, .. } | RunEnd::Budget { message } => {
                            Some(message.clone())
                        }
                        _ => None,
                    };
                    (Some(end.as_str().to_owned()), message)
                }
                Err(_) => (None, None),
            }
        }
    }
}

/// Returns the approvals and questions that a stored run waits for.
#[must_use]
pub fn pending_questions(run: &StoredRun) -> Vec<Pending> {
    let pending = run.state.pointer("/state/phase/pending").cloned().unwrap_or_default();
    serde_json::from_value(pending).unwrap_or_default()
}
