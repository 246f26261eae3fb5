//! Adding up what was used, the same way in every store.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{UsageBy, UsageRow, UsageSum};

impl UsageSum {
    /// One answer of a model, under the name that it is added up by; calls are not counted yet.
    #[must_use]
    pub fn of_answer(row: &UsageRow, by: UsageBy) -> Self {
        let name = match by {
            UsageBy::Model => format!("{}/{}", row.provider, row.model),
            UsageBy::Agent | UsageBy::Tool => row.agent.clone(),
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

    /// Calls of tools that ended, under this name.
    #[must_use]
    pub fn of_calls(name: String, calls: u64, run_nanos: u64) -> Self {
        Self { name, calls: Some(calls), run_nanos: Some(run_nanos), ..Self::default() }
    }

    /// Both together, under the name of the first. What nobody reported stays unknown; what is too large for a number stays the largest.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
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

/// Sums by name, for stores that have what is added up at hand.
#[derive(Debug, Default)]
pub struct UsageTally {
    sums: BTreeMap<String, UsageSum>,
}

impl UsageTally {
    /// Adds what belongs to one name.
    pub fn add(&mut self, part: UsageSum) {
        if let Some(sum) = self.sums.get_mut(&part.name) {
            *sum = std::mem::take(sum).and(&part);
        } else {
            self.sums.insert(part.name.clone(), part);
        }
    }

    /// The sums, those with the most requests first, then those with the most calls. By agent, one that made no call made none: that is
    /// known.
    #[must_use]
    pub fn finish(self, by: UsageBy) -> Vec<UsageSum> {
        let mut sums: Vec<UsageSum> = self.sums.into_values().collect();
        if by == UsageBy::Agent {
            for sum in &mut sums {
                sum.calls.get_or_insert(0);
                sum.run_nanos.get_or_insert(0);
            }
        }
        sums.sort_by_key(|sum| Reverse((sum.requests, sum.calls)));
        sums
    }
}
