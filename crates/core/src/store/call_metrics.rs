//! Aggregation of call metrics, shared by all stores.

use std::collections::BTreeMap;

use super::{CallRow, LastError, ToolMetrics};
use crate::error::ErrorType;
use crate::id::CallId;
use crate::outcome_kind::OutcomeKind;

/// The fields of an ended call that metrics need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallSample {
    /// Outcome.
    pub outcome: OutcomeKind,
    /// Error type, if it failed.
    pub error_type: Option<ErrorType>,
    /// Attempts that were started.
    pub attempts: u32,
    /// Nanoseconds that the tool ran.
    pub run_nanos: u64,
    /// Unix time in milliseconds.
    pub ended_at: i64,
}

/// Aggregates calls by tool.
#[derive(Debug, Default)]
pub struct MetricsAggregator {
    tools: BTreeMap<String, ToolAggregate>,
}

/// Running totals of one tool.
#[derive(Debug)]
struct ToolAggregate {
    by_outcome: BTreeMap<OutcomeKind, u64>,
    run_nanos: Vec<u64>,
    last_error: Option<LastError>,
    last_at: i64,
}

impl MetricsAggregator {
    /// Adds a call of this tool; `end` is `None` while the call is open. The message of a failure
    /// is not stored.
    pub fn add(&mut self, tool: &str, call: CallId, received_at: i64, end: Option<&CallSample>) {
        self.add_to(tool, received_at, |tally| tally.add(call, end, String::new));
    }

    /// Adds a complete call row. A call without a known tool is ignored.
    pub fn add_row(&mut self, row: &CallRow) {
        let Some(tool) = &row.facts.tool else { return };
        let end = row.end.as_ref();
        let measured = end.map(|end| CallSample {
            outcome: end.outcome,
            error_type: end.error_type,
            attempts: end.attempts,
            run_nanos: end.run_nanos,
            ended_at: end.ended_at,
        });
        let words = || end.and_then(|end| end.message.clone()).unwrap_or_default();
        self.add_to(tool.as_str(), row.facts.received_at, |tally| {
            tally.add(row.facts.call, measured.as_ref(), words);
        });
    }

    /// Returns one row for each tool, sorted by name.
    #[must_use]
    pub fn finish(self) -> Vec<ToolMetrics> {
        self.tools.into_iter().map(|(tool, tally)| tally.metrics(tool)).collect()
    }

    fn add_to(&mut self, tool: &str, received_at: i64, add: impl FnOnce(&mut ToolAggregate)) {
        if let Some(tally) = self.tools.get_mut(tool) {
            tally.last_at = tally.last_at.max(received_at);
            add(tally);
        } else {
            let mut tally = ToolAggregate::new(received_at);
            add(&mut tally);
            self.tools.insert(tool.to_owned(), tally);
        }
    }
}

impl ToolAggregate {
    fn new(received_at: i64) -> Self {
        Self {
            by_outcome: BTreeMap::new(),
            run_nanos: Vec::new(),
            last_error: None,
            last_at: received_at,
        }
    }

    fn add(&mut self, call: CallId, end: Option<&CallSample>, words: impl FnOnce() -> String) {
        let Some(end) = end else { return };
        *self.by_outcome.entry(end.outcome).or_default() += 1;
        if end.attempts > 0 {
            self.run_nanos.push(end.run_nanos);
        }
        let is_failure = matches!(end.outcome, OutcomeKind::Failed | OutcomeKind::TimedOut);
        if let Some(error_type) = end.error_type.filter(|_| is_failure)
            && self
                .last_error
                .as_ref()
                .is_none_or(|last| (last.at, last.call) < (end.ended_at, call))
        {
            self.last_error =
                Some(LastError { error_type, message: words(), at: end.ended_at, call });
        }
    }

    fn metrics(mut self, tool: String) -> ToolMetrics {
        let p95_nanos = percentile(&mut self.run_nanos, 95);
        let p50_nanos = percentile(&mut self.run_nanos, 50);
        let of = |kind| self.by_outcome.get(&kind).copied().unwrap_or(0);
        ToolMetrics {
            tool,
            count: self.by_outcome.values().sum(),
            succeeded: of(OutcomeKind::Succeeded),
            failed: of(OutcomeKind::Failed),
            timed_out: of(OutcomeKind::TimedOut),
            not_run: of(OutcomeKind::Denied)
                + of(OutcomeKind::Expired)
                + of(OutcomeKind::Cancelled),
            unknown: of(OutcomeKind::Unknown),
            p50_nanos,
            p95_nanos,
            last_error: self.last_error,
            last_at: self.last_at,
        }
    }
}

/// Returns the nearest-rank percentile.
fn percentile(values: &mut [u64], percent: usize) -> Option<u64> {
    if values.is_empty() {
        return None;
    }
    let rank = (values.len() * percent).div_ceil(100).max(1);
    Some(*values.select_nth_unstable(rank - 1).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        for (mut values, p50, p95) in [
            (vec![], None, None),
            (vec![7], Some(7), Some(7)),
            ((1..=100).rev().collect(), Some(50), Some(95)),
            (vec![4, 1, 3, 2], Some(2), Some(4)),
            (vec![0, 0, 9], Some(0), Some(9)),
        ] {
            assert_eq!(percentile(&mut values, 50), p50);
            assert_eq!(percentile(&mut values, 95), p95);
        }
    }
}
