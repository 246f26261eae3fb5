//! Metrics of the calls of tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{CallId, ErrorType, LastError, ToolMetrics};

use super::find_tool;
use crate::context::{OpContext, StoreContext};
use crate::error::OpError;

/// Metrics of the calls of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolNumbers {
    /// Number of calls that ended.
    pub count: u64,
    /// Number of calls that succeeded.
    pub succeeded: u64,
    /// Number of calls that failed.
    pub failed: u64,
    /// Number of calls that timed out.
    pub timed_out: u64,
    /// Number of calls that were denied, expired or were cancelled; the tool did not cause these.
    pub not_run: u64,
    /// Number of calls that ended as unknown.
    pub unknown: u64,
    /// Share of the successful calls among those that ran; null if none ran.
    pub success_rate: Option<f64>,
    /// Median run time of the calls that ran, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 95th percentile of the run time, in milliseconds.
    pub p95_ms: Option<f64>,
    /// The newest failure.
    pub last_error: Option<LastFailure>,
    /// When the newest call was received, milliseconds since 1970.
    pub last_at: Option<i64>,
}

/// The newest failure of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LastFailure {
    /// The type of the error.
    #[schemars(with = "String")]
    pub error_type: ErrorType,
    /// Beginning of its message; null for callers that see no texts of calls.
    pub message: Option<String>,
    /// When it happened, milliseconds since 1970.
    pub at: i64,
    /// The call.
    #[schemars(with = "String")]
    pub call: CallId,
}

/// Returns the share of successful calls among those that ran; `None` if none ran.
fn success_rate(metrics: &ToolMetrics) -> Option<f64> {
    let ran = metrics.count.checked_sub(metrics.not_run).filter(|ran| *ran > 0)?;
    Some(metrics.succeeded as f64 / ran as f64)
}

impl ToolNumbers {
    /// Creates the metrics of a tool; the message of its newest failure is included only if
    /// `shows_payloads`.
    fn new(metrics: ToolMetrics, shows_payloads: bool) -> Self {
        let millis = |nanos: u64| nanos as f64 / 1e6;
        let success_rate = success_rate(&metrics);
        let last_error = metrics.last_error.map(|last| {
            let LastError { error_type, message, at, call } = last;
            LastFailure { error_type, message: shows_payloads.then_some(message), at, call }
        });
        Self {
            count: metrics.count,
            succeeded: metrics.succeeded,
            failed: metrics.failed,
            timed_out: metrics.timed_out,
            not_run: metrics.not_run,
            unknown: metrics.unknown,
            success_rate,
            p50_ms: metrics.p50_nanos.map(millis),
            p95_ms: metrics.p95_nanos.map(millis),
            last_error,
            last_at: Some(metrics.last_at),
        }
    }
}

/// Returns the metrics of every tool that was called since this time (milliseconds since 1970;
/// `None` for all calls), by its canonical name.
///
/// # Errors
/// [`OpError::Store`].
pub async fn all_numbers(
    store: &StoreContext<'_>,
    since: Option<i64>,
) -> Result<Vec<(String, ToolNumbers)>, OpError> {
    let metrics = store.stores.history.metrics(store.owner, since).await?;
    let shows = store.shows_payloads;
    Ok(metrics.into_iter().map(|one| (one.tool.clone(), ToolNumbers::new(one, shows))).collect())
}

/// Returns the metrics of one tool; all 0 if it was not called.
///
/// # Errors
/// [`OpError::NotFound`] for an unknown tool that was never called; [`OpError::Store`].
pub async fn numbers(
    ctx: &OpContext<'_>,
    name: &str,
    since: Option<i64>,
) -> Result<ToolNumbers, OpError> {
    let spec = ctx.toolcrib.spec(name);
    // A tool that was removed still has its past calls.
    let canonical = spec.as_ref().map_or(name, |spec| spec.name.as_str());
    let found =
        all_numbers(&ctx.store, since).await?.into_iter().find(|(tool, _)| tool == canonical);
    match found {
        Some((_, numbers)) => Ok(numbers),
        None => find_tool(ctx.toolcrib, name).map(|_| ToolNumbers::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_did_not_run_do_not_count_for_the_success_rate() {
        let tool = |count, succeeded, not_run| ToolMetrics {
            tool: "t".into(),
            count,
            succeeded,
            failed: count - succeeded - not_run,
            timed_out: 0,
            not_run,
            unknown: 0,
            p50_nanos: None,
            p95_nanos: None,
            last_error: None,
            last_at: 0,
        };
        assert_eq!(success_rate(&tool(4, 1, 2)), Some(0.5));
        assert_eq!(success_rate(&tool(2, 0, 2)), None);
        assert_eq!(success_rate(&tool(0, 0, 0)), None);
    }
}
