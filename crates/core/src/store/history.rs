//! Looking back at calls.

use serde::{Deserialize, Serialize};

use super::{CallRow, StoreError};
use crate::BoxFuture;
use crate::error::ErrorType;
use crate::id::{CallId, RunId};
use crate::outcome::OutcomeKind;

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It was started and has no outcome yet.
    Open,
    /// It ended like this.
    #[serde(untagged)]
    Ended(OutcomeKind),
}

/// Which calls are looked for. Everything that is said must fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallFilter {
    /// Whose calls.
    pub owner: String,
    /// Canonical name of the tool.
    pub tool: Option<String>,
    /// Operation that policy names.
    pub operation: Option<String>,
    /// Agent that called.
    pub agent: Option<String>,
    /// Conversation.
    pub conversation: Option<String>,
    /// Run.
    pub run: Option<RunId>,
    /// Where they stand.
    pub status: Option<CallStatus>,
    /// Received at or after, milliseconds since 1970.
    pub since: Option<i64>,
    /// Received before, milliseconds since 1970.
    pub until: Option<i64>,
    /// Older than this call: the next page.
    pub before: Option<CallId>,
    /// At most this many, the newest first.
    pub limit: usize,
}

/// The newest failure of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// Its type.
    pub error_type: ErrorType,
    /// Its first words.
    pub message: String,
    /// Milliseconds since 1970.
    pub at: i64,
    /// The call.
    pub call: CallId,
}

/// What is known of the calls of one tool (SPEC 6.3, Metrics).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolMetrics {
    /// Canonical name.
    pub tool: String,
    /// Calls that ended.
    pub count: u64,
    /// Of these, those that succeeded.
    pub succeeded: u64,
    /// Failed.
    pub failed: u64,
    /// Ran out of time.
    pub timed_out: u64,
    /// Denied, expired or stopped: nothing that the tool did.
    pub not_run: u64,
    /// Ended as unknown.
    pub unknown: u64,
    /// Median time of the calls that ran, in nanoseconds; `None` = none ran.
    pub p50_nanos: Option<u64>,
    /// 95th percentile of the same (nearest rank).
    pub p95_nanos: Option<u64>,
    /// The newest failure, timeouts included.
    pub last_error: Option<LastError>,
    /// When the newest call was received, milliseconds since 1970.
    pub last_at: i64,
}

/// Looking back at calls.
pub trait CallHistory: Send + Sync {
    /// Calls that fit, the newest first.
    fn calls(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>>;

    /// Calls of an owner whose ids begin with this text, the newest first, at most `limit`: for ids that were cut or mistyped.
    fn calls_like<'a>(
        &'a self,
        owner: &'a str,
        prefix: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<CallId>, StoreError>>;

    /// One row for each tool of an owner that was called since then (milliseconds since 1970), by name.
    fn metrics<'a>(
        &'a self,
        owner: &'a str,
        since: Option<i64>,
    ) -> BoxFuture<'a, Result<Vec<ToolMetrics>, StoreError>>;
}
