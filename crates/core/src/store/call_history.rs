//! Call history: filters, metrics and the trait to query them.

use serde::{Deserialize, Serialize};

use super::{CallRow, StoreError};
use crate::BoxFuture;
use crate::error::ErrorType;
use crate::id::{CallId, RunId};
use crate::outcome_kind::OutcomeKind;

/// Status of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// Started, without an outcome yet.
    Open,
    /// Ended with this outcome.
    #[serde(untagged)]
    Ended(OutcomeKind),
}

/// Filter for calls; every given field must match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallFilter {
    /// Owner of the calls.
    pub owner: String,
    /// Canonical name of the tool.
    pub tool: Option<String>,
    /// Operation that policy evaluated.
    pub operation: Option<String>,
    /// Agent that made the call.
    pub agent: Option<String>,
    /// Conversation.
    pub conversation: Option<String>,
    /// Run.
    pub run: Option<RunId>,
    /// The call that made them, such as a script.
    pub parent: Option<CallId>,
    /// Status.
    pub status: Option<CallStatus>,
    /// Received at or after this Unix time in milliseconds.
    pub since: Option<i64>,
    /// Received before this Unix time in milliseconds.
    pub until: Option<i64>,
    /// A call earlier than this one, for pagination.
    pub before: Option<CallId>,
    /// Maximum number of calls, newest first.
    pub limit: usize,
}

/// The newest failure of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// Its type.
    pub error_type: ErrorType,
    /// Beginning of its message.
    pub message: String,
    /// Unix time in milliseconds.
    pub at: i64,
    /// The call.
    pub call: CallId,
}

/// Metrics of the calls of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolMetrics {
    /// Canonical name.
    pub tool: String,
    /// Calls that ended.
    pub count: u64,
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls that timed out.
    pub timed_out: u64,
    /// Calls that were denied, expired or cancelled: the tool itself did not fail.
    pub not_run: u64,
    /// Calls with outcome `unknown`.
    pub unknown: u64,
    /// Median duration of the calls that ran, in nanoseconds; `None` if none ran.
    pub p50_nanos: Option<u64>,
    /// 95th percentile of the duration (nearest rank).
    pub p95_nanos: Option<u64>,
    /// The newest failure, including timeouts.
    pub last_error: Option<LastError>,
    /// When the newest call was received, Unix time in milliseconds.
    pub last_at: i64,
}

/// Queries over recorded calls.
pub trait CallHistory: Send + Sync {
    /// Calls that match the filter, newest first.
    fn calls(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>>;

    /// Calls of an owner whose ids begin with this text, newest first, at most `limit`: for ids
    /// that were truncated or mistyped.
    fn calls_with_id_prefix<'a>(
        &'a self,
        owner: &'a str,
        prefix: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<CallId>, StoreError>>;

    /// One row for each tool of an owner that was called since this Unix time in milliseconds,
    /// sorted by name.
    fn metrics<'a>(
        &'a self,
        owner: &'a str,
        since: Option<i64>,
    ) -> BoxFuture<'a, Result<Vec<ToolMetrics>, StoreError>>;
}
