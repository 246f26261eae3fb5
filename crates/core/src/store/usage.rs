//! What models and tools used.

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::BoxFuture;
use crate::id::{ConversationId, RunId};

/// One answer of a model. What a provider does not report stays `None`: unknown is not zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// Whose run it is.
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
    /// Tokens of the answer.
    pub output: Option<u64>,
    /// Of the request, tokens read from the provider's cache.
    pub cache_read: Option<u64>,
    /// Of the request, tokens written to it.
    pub cache_write: Option<u64>,
    /// Of the answer, tokens of reasoning.
    pub reasoning: Option<u64>,
    /// Estimated price in micro-dollars (millionths of a US dollar); `None` = no price is known.
    pub cost_micros: Option<u64>,
    /// Window of the model in tokens, when it is known.
    pub window: Option<u64>,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// What usage is added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    /// By provider and model.
    #[default]
    Model,
    /// By agent.
    Agent,
    /// By tool: calls and time; tokens are the model's, so they are unknown here.
    Tool,
}

/// A sum. Tokens and cost are `None` when nobody reported any; otherwise sums of what was reported, a lower bound where `unreported` > 0.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageSum {
    /// Model (`provider/model`), agent or tool.
    pub name: String,
    /// Answers of models; 0 for tools.
    pub requests: u64,
    /// Answers without token counts.
    pub unreported: u64,
    /// Answers without a known price.
    pub unpriced: u64,
    /// Tokens of requests.
    pub input: Option<u64>,
    /// Tokens of answers.
    pub output: Option<u64>,
    /// Tokens read from caches.
    pub cache_read: Option<u64>,
    /// Tokens written to caches.
    pub cache_write: Option<u64>,
    /// Tokens of reasoning.
    pub reasoning: Option<u64>,
    /// Estimated price in micro-dollars (millionths of a US dollar).
    pub cost_micros: Option<u64>,
    /// Calls of tools; `None` where calls are not counted (by model).
    pub calls: Option<u64>,
    /// Nanoseconds that tools ran; `None` where calls are not counted.
    pub run_nanos: Option<u64>,
}

/// What was used.
pub trait UsageStore: Send + Sync {
    /// Queues a row and returns at once; it is written in order with the checkpoints of its run. One that cannot be written is lost:
    /// observation never blocks.
    fn add_usage(&self, row: UsageRow);

    /// Sums of an owner since then (milliseconds since 1970), those with the most requests, or calls, first.
    fn usage<'a>(
        &'a self,
        owner: &'a str,
        by: UsageBy,
        since: Option<i64>,
    ) -> BoxFuture<'a, Result<Vec<UsageSum>, StoreError>>;

    /// The newest row of a run.
    fn last_usage(&self, run: RunId) -> BoxFuture<'_, Result<Option<UsageRow>, StoreError>>;
}
