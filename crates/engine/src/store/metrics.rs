//! Sums over calls, for stores that have them at hand.

use std::collections::BTreeMap;

use toolcrib_core::{CallRow, LastError, OutcomeKind, ToolMetrics};

/// What is added up for one tool.
#[derive(Default)]
struct Tally {
    by_outcome: BTreeMap<OutcomeKind, u64>,
    run_nanos: Vec<u64>,
    last_error: Option<LastError>,
    last_at: i64,
}

/// The metrics of these calls, by tool.
pub(super) fn of(rows: impl Iterator<Item = CallRow>) -> Vec<ToolMetrics> {
    let mut tools: BTreeMap<String, Tally> = BTreeMap::new();
    for row in rows {
        let Some(tool) = &row.facts.tool else { continue };
        tools.entry(tool.to_string()).or_default().add(&row);
    }
    tools.into_iter().map(|(tool, tally)| tally.metrics(tool)).collect()
}

impl Tally {
    fn add(&mut self, row: &CallRow) {
        self.last_at = self.last_at.max(row.facts.received_at);
        let Some(end) = &row.end else { return };
        *self.by_outcome.entry(end.outcome).or_default() += 1;
        if end.attempts > 0 {
            self.run_nanos.push(end.run_nanos);
        }
        let is_failure = matches!(end.outcome, OutcomeKind::Failed | OutcomeKind::TimedOut);
        if let Some(error_type) = end.error_type.filter(|_| is_failure)
            && self.last_error.as_ref().is_none_or(|last| {
                (last.at, last.call) < (end.ended_at, row.facts.call)
            })
        {
            self.last_error = Some(LastError {
                error_type,
                message: end.message.clone().unwrap_or_default(),
                at: end.ended_at,
                call: row.facts.call,
            });
        }
    }

    fn metrics(mut self, tool: String) -> ToolMetrics {
        self.run_nanos.sort_unstable();
        let of = |kind| self.by_outcome.get(&kind).copied().unwrap_or(0);
        ToolMetrics {
            tool,
            count: self.by_outcome.values().sum(),
            succeeded: of(OutcomeKind::Succeeded),
            failed: of(OutcomeKind::Failed),
            timed_out: of(OutcomeKind::TimedOut),
            not_run: of(OutcomeKind::Denied) + of(OutcomeKind::Expired) + of(OutcomeKind::Cancelled),
            unknown: of(OutcomeKind::Unknown),
            p50_nanos: percentile(&self.run_nanos, 50),
            p95_nanos: percentile(&self.run_nanos, 95),
            last_error: self.last_error,
            last_at: self.last_at,
        }
    }
}

/// The nearest rank of sorted values.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        for (values, p50, p95) in [
            (vec![], None, None),
            (vec![7], Some(7), Some(7)),
            ((1..=100).collect(), Some(50), Some(95)),
            (vec![1, 2, 3, 4], Some(2), Some(4)),
        ] {
            assert_eq!((percentile(&values, 50), percentile(&values, 95)), (p50, p95));
        }
    }
}
