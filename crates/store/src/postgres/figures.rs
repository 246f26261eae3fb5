//! Counters of one store. Counting never delays the counted operations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use toolcrib_core::store::{LATENCY_SECONDS, Latency};

/// The counters. The pool adds its own state when the figures are read.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) pool_waits: Count,
    pub(super) renewals: Count,
    pub(super) failed_renewals: Count,
    pub(super) fenced_writes: Count,
    pub(super) reads: Histogram,
    pub(super) commits: Histogram,
}

/// A counter.
#[derive(Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Durations in buckets.
#[derive(Default)]
pub(super) struct Histogram {
    counts: [Count; LATENCY_SECONDS.len() + 1],
    nanos: Count,
}

impl Histogram {
    pub(super) fn record(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = LATENCY_SECONDS.partition_point(|bound| *bound < seconds);
        if let Some(count) = self.counts.get(bucket) {
            count.add(1);
        }
        self.nanos.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(super) fn snapshot(&self) -> Latency {
        Latency {
            counts: std::array::from_fn(|at| self.counts.get(at).map_or(0, Count::get)),
            total: Duration::from_nanos(self.nanos.get()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_bucket_of_the_next_bound() {
        let histogram = Histogram::default();
        for millis in [0, 1, 2, 60_000, 60_001] {
            histogram.record(Duration::from_millis(millis));
        }
        let found = histogram.snapshot();
        let filled: Vec<usize> =
            (0..).zip(found.counts).filter(|(_, n)| *n > 0).map(|(at, _)| at).collect();
        assert_eq!(filled, [0, 1, 2, LATENCY_SECONDS.len() - 1, LATENCY_SECONDS.len()]);
        assert_eq!(found.total, Duration::from_millis(120_004));
    }
}
