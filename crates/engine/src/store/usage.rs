//! Usage of models and tools, in memory.

use std::collections::VecDeque;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_core::{
    BoxFuture, CallFilter, CallHistory, CallRow, RunId, StoreError, UsageAggregator, UsageBy,
    UsageRow, UsageStore, UsageTotals, quarter_hour,
};

/// Maximum number of usage rows; the oldest are dropped first.
const KEPT: usize = 10_000;

/// A [`UsageStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemoryUsage {
    /// Usage rows, oldest first.
    rows: Mutex<VecDeque<UsageRow>>,
    calls: Option<Arc<dyn CallHistory>>,
}

impl MemoryUsage {
    /// Creates a store that also counts the calls of this history by tool and agent.
    #[must_use]
    pub fn with_calls(calls: Arc<dyn CallHistory>) -> Self {
        Self { rows: Mutex::default(), calls: Some(calls) }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<UsageRow>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn calls(&self, owner: &str, since: Option<i64>) -> Result<Vec<CallRow>, StoreError> {
        let Some(calls) = &self.calls else { return Ok(Vec::new()) };
        let filter = CallFilter {
            owner: owner.to_owned(),
            since,
            limit: usize::MAX,
            ..CallFilter::default()
        };
        calls.calls(filter).await
    }
}

impl UsageStore for MemoryUsage {
    fn add_usage(&self, row: UsageRow) {
        let mut rows = self.lock();
        if rows.len() >= KEPT {
            rows.pop_front();
        }
        rows.push_back(row);
    }

    fn usage<'a>(
        &'a self,
        owner: &'a str,
        by: UsageBy,
        since: Option<i64>,
    ) -> BoxFuture<'a, Result<Vec<UsageTotals>, StoreError>> {
        Box::pin(async move {
            let mut tally = UsageAggregator::default();
            if by != UsageBy::Model {
                for row in self.calls(owner, since).await? {
                    of_call(&row, by).into_iter().for_each(|part| tally.add(part));
                }
            }
            if by != UsageBy::Tool {
                let rows = self.lock();
                let fits = |row: &&UsageRow| {
                    row.owner == owner && since.is_none_or(|since| row.at >= since)
                };
                let answers = rows.iter().filter(fits).map(|row| UsageTotals::from_row(row, by));
                answers.for_each(|part| tally.add(part));
            }
            Ok(tally.finish(by))
        })
    }

    fn last_usage(&self, run: RunId) -> BoxFuture<'_, Result<Option<UsageRow>, StoreError>> {
        let found = self.lock().iter().rev().find(|row| row.run == run).cloned();
        Box::pin(ready(Ok(found)))
    }
}

/// Returns the totals of an ended call; none by tool if its tool is unknown.
fn of_call(row: &CallRow, by: UsageBy) -> Option<UsageTotals> {
    let end = row.end.as_ref()?;
    let name = match by {
        UsageBy::Tool => row.facts.tool.as_ref()?.to_string(),
        UsageBy::Agent | UsageBy::Model => row.facts.context.agent.clone(),
        UsageBy::QuarterHour => quarter_hour(row.facts.received_at),
    };
    Some(UsageTotals::from_calls(name, 1, end.run_nanos))
}
