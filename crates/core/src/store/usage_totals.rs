//! Aggregation of usage totals, shared by all stores.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{UsageBy, UsageRow, UsageTotals, quarter_hour};

impl UsageTotals {
    /// Returns totals of one model response, named by the grouping; calls are not counted yet.
    #[must_use]
    pub fn from_row(row: &UsageRow, by: UsageBy) -> Self {
        let name = match by {
            UsageBy::Model => format!("{}/{}", row.provider, row.model),
            UsageBy::Agent | UsageBy::Tool => row.agent.clone(),
            UsageBy::QuarterHour => quarter_hour(row.at),
        };
        Self {
            name,
            requests: 1,
            unreported: u64::from(row.input.is_none() || row.output.is_none()),
            unpriced: u64::from(row.cost_micros.is_none()),
            input: row.input,
            output: row.output,
            cache_read: row.cache_read,
            cache_write: row.cache_write,
            reasoning: row.reasoning,
            cost_micros: row.cost_micros,
            calls: None,
            run_nanos: None,
        }
    }

    /// Returns totals of the ended calls of a tool or agent.
    #[must_use]
    pub fn from_calls(name: String, calls: u64, run_nanos: u64) -> Self {
        Self { name, calls: Some(calls), run_nanos: Some(run_nanos), ..Self::default() }
    }

    /// Returns the sum of both under the name of the first. Unreported values stay `None`; sums
    /// saturate.
    #[must_use]
    pub fn merged_with(self, other: &Self) -> Self {
        Self {
            name: self.name,
            requests: self.requests.saturating_add(other.requests),
            unreported: self.unreported.saturating_add(other.unreported),
            unpriced: self.unpriced.saturating_add(other.unpriced),
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cache_read: sum(self.cache_read, other.cache_read),
            cache_write: sum(self.cache_write, other.cache_write),
            reasoning: sum(self.reasoning, other.reasoning),
            cost_micros: sum(self.cost_micros, other.cost_micros),
            calls: sum(self.calls, other.calls),
            run_nanos: sum(self.run_nanos, other.run_nanos),
        }
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (some, None) | (None, some) => some,
    }
}

/// Sums by name, for stores that aggregate in memory.
#[derive(Debug, Default)]
pub struct UsageAggregator {
    sums: BTreeMap<String, UsageTotals>,
}

impl UsageAggregator {
    /// Adds a part to the total of its name.
    pub fn add(&mut self, part: UsageTotals) {
        if let Some(sum) = self.sums.get_mut(&part.name) {
            *sum = std::mem::take(sum).merged_with(&part);
        } else {
            self.sums.insert(part.name.clone(), part);
        }
    }

    /// Returns the totals, sorted by requests, then by calls, largest first. By agent and by
    /// quarter of an hour, a missing number of calls becomes 0: an agent without recorded calls
    /// made none.
    #[must_use]
    pub fn finish(self, by: UsageBy) -> Vec<UsageTotals> {
        let mut sums: Vec<UsageTotals> = self.sums.into_values().collect();
        if matches!(by, UsageBy::Agent | UsageBy::QuarterHour) {
            for sum in &mut sums {
                sum.calls.get_or_insert(0);
                sum.run_nanos.get_or_insert(0);
            }
        }
        sums.sort_by_key(|sum| Reverse((sum.requests, sum.calls)));
        sums
    }
}
