//! The outcomes of calls that were running when the kill switch was engaged.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::{RunningCall, Toolcrib};
use toolcrib_core::store::CallStore;

use crate::calls::{CallState, serialized_name};

/// Interval for reading the stored outcomes.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A call that was running when the kill switch was engaged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoppedCall {
    /// Its id.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// Its run.
    pub run: Option<String>,
    /// Its effect, such as `side_effect`: an interrupted call may have taken effect.
    pub effect: String,
    /// When it started, in milliseconds since 1970.
    pub started_at: i64,
    /// Its outcome; `running` if it is still running.
    pub status: CallState,
}

/// Waits until all of these calls have ended, for at most this time.
pub(super) async fn wait(
    toolcrib: &Toolcrib,
    running: Vec<RunningCall>,
    limit: Duration,
) -> Vec<StoppedCall> {
    let until = tokio::time::Instant::now() + limit;
    let calls = &*toolcrib.stores().calls;
    let mut stopped = Vec::with_capacity(running.len());
    // Waiting for one after the other is sufficient: all have the same deadline.
    for call in running {
        let mut status = status_of(calls, &call).await;
        while status == CallState::Running && tokio::time::Instant::now() < until {
            tokio::time::sleep(POLL_INTERVAL).await;
            status = status_of(calls, &call).await;
        }
        stopped.push(StoppedCall {
            call: call.call.to_string(),
            tool: call.tool.to_string(),
            run: call.run.map(|run| run.to_string()),
            effect: serialized_name(&call.effect).unwrap_or_default(),
            started_at: call.started_at_ms,
            status,
        });
    }
    stopped
}

async fn status_of(calls: &dyn CallStore, call: &RunningCall) -> CallState {
    match calls.call(call.call).await {
        Ok(Some(stored)) => {
            stored.row.end.map_or(CallState::Running, |end| CallState::from(end.outcome))
        }
        // The call was running and has no recorded outcome, so its outcome is unknown.
        Ok(None) | Err(_) => CallState::Unknown,
    }
}
