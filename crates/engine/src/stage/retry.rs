//! The wait before a failed attempt is retried.

use std::time::Duration;

use tokio::time::Instant as Deadline;
use toolcrib_core::{EventKind, ToolError, defaults};

use crate::call_state::CallState;

/// Waits before attempt n + 1: `backoff × 1.5^(n - 1)` plus a random share; `false` if there is no
/// time left for another attempt, the call was stopped meanwhile, or tools were switched off.
pub(super) async fn wait_for_retry(
    call: &CallState,
    error: &ToolError,
    backoff: Duration,
    deadline: Deadline,
) -> bool {
    let pause = pause(backoff, call.attempts.count);
    if deadline.saturating_duration_since(Deadline::now()) <= pause {
        return false;
    }
    call.emit(EventKind::Retry, |event| {
        event.error_type = Some(error.error_type);
        event.error = Some(error.message.clone());
    });
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = call.cancel.cancelled() => return false,
    }
    call.engine().tools_enabled()
}

/// Returns the pause after attempt n, with a random share, so that callers that failed together do
/// not retry together.
fn pause(backoff: Duration, attempt: u32) -> Duration {
    let growth = defaults::RETRY_FACTOR.powf(f64::from(attempt.saturating_sub(1)));
    let random = 1.0 + fastrand::f64() * defaults::RETRY_JITTER;
    Duration::try_from_secs_f64(backoff.as_secs_f64() * growth * random).unwrap_or(Duration::MAX)
}
