//! Usage store: tokens and cost of models, calls and time of tools.

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::BoxFuture;
use crate::id::{ConversationId, RunId};

/// Usage of one model response. A value that the provider does not report is `None`, because
/// unknown is not zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// Owner of the run.
    pub owner: String,
    /// The run.
    pub run: RunId,
    /// Its conversation.
    pub conversation: ConversationId,
    /// The agent.
    pub agent: String,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Tokens of the request.
    pub input: Option<u64>,
    /// Tokens of the response.
    pub output: Option<u64>,
    /// Tokens of the request that were read from the provider's cache.
    pub cache_read: Option<u64>,
    /// Tokens of the request that were written to the provider's cache.
    pub cache_write: Option<u64>,
    /// Tokens of the response that were used for reasoning.
    pub reasoning: Option<u64>,
    /// Estimated price in micro-dollars (millionths of a US dollar); `None` if no price is known.
    pub cost_micros: Option<u64>,
    /// Context window of the model in tokens, if known.
    pub window: Option<u64>,
    /// Unix time in milliseconds.
    pub at: i64,
}

/// Grouping of usage totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    /// By provider and model.
    #[default]
    Model,
    /// By agent.
    Agent,
    /// By tool: calls and time. Tokens are `None`, because they belong to models.
    Tool,
    /// By quarter of an hour, named by its number since 1970 ([`QUARTER_HOUR_MS`]): days of every
    /// time zone, including those with a clock change, consist of whole quarters.
    QuarterHour,
}

/// Milliseconds of a quarter of an hour. Offsets of time zones are multiples of it since 1972.
pub const QUARTER_HOUR_MS: i64 = 15 * 60 * 1_000;

/// Returns the name of the quarter of an hour of a Unix time in milliseconds.
#[must_use]
pub fn quarter_hour(at: i64) -> String {
    at.div_euclid(QUARTER_HOUR_MS).to_string()
}

/// Usage totals. Tokens and cost are `None` if no response reported any; otherwise they are sums of
/// the reported values, a lower bound if `unreported` > 0.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageTotals {
    /// Model (`provider/model`), agent, tool, or number of the quarter of an hour.
    pub name: String,
    /// Answers of models; 0 for tools.
    pub requests: u64,
    /// Responses without token counts.
    pub unreported: u64,
    /// Responses without a known price.
    pub unpriced: u64,
    /// Tokens of requests.
    pub input: Option<u64>,
    /// Tokens of responses.
    pub output: Option<u64>,
    /// Tokens read from caches.
    pub cache_read: Option<u64>,
    /// Tokens written to caches.
    pub cache_write: Option<u64>,
    /// Tokens of reasoning.
    pub reasoning: Option<u64>,
    /// Estimated price in micro-dollars (millionths of a US dollar).
    pub cost_micros: Option<u64>,
    /// Tool calls; `None` in totals by model, which count none.
    pub calls: Option<u64>,
    /// Nanoseconds that tools ran; `None` if calls are not counted.
    pub run_nanos: Option<u64>,
}

/// Stores usage.
pub trait UsageStore: Send + Sync {
    /// Queues a row and returns at once. It is written in order with the checkpoints of its run. A
    /// row that cannot be written is dropped, so that accounting never blocks a run.
    fn add_usage(&self, row: UsageRow);

    /// Returns totals of an owner since this Unix time in milliseconds, sorted by requests or
    /// calls, largest first.
    fn usage<'a>(
        &'a self,
        owner: &'a str,
        by: UsageBy,
        since: Option<i64>,
    ) -> BoxFuture<'a, Result<Vec<UsageTotals>, StoreError>>;

    /// Returns the newest row of a run.
    fn last_usage(&self, run: RunId) -> BoxFuture<'_, Result<Option<UsageRow>, StoreError>>;
}
