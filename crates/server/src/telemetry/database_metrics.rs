//! Metrics of a shared database, from the figures that its store counts.

use std::fmt;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use toolcrib_core::store::{DatabaseFigures, LATENCY_SECONDS, Latency};

/// Registers the metrics with those of the daemon.
pub(super) fn register(all: &mut Registry, figures: DatabaseFigures) {
    let DatabaseFigures { pool_limit, pool_in_use, pool_idle, pool_waits, reads, commits, .. } =
        figures;
    for (name, help, value) in [
        ("database_pool_limit", "Most connections of the pool of reads", pool_limit),
        ("database_pool_in_use", "Connections that a read uses now", pool_in_use),
        ("database_pool_idle", "Open connections that no read uses now", pool_idle),
    ] {
        all.register(name, help, ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)));
    }
    for (name, help, value) in [
        ("database_pool_waits", "Reads that waited for a connection of the pool", pool_waits),
        ("database_lease_renewals", "Leases that were renewed", figures.renewals),
        (
            "database_lease_renewals_failed",
            "Attempts to renew leases that failed",
            figures.failed_renewals,
        ),
        (
            "database_fenced_writes",
            "Writes that were refused because their claim had been taken over",
            figures.fenced_writes,
        ),
    ] {
        all.register(name, help, ConstCounter::new(value));
    }
    let seconds = "Time of reads and commits in the database, waiting included";
    all.register_with_unit("database", seconds, Unit::Seconds, Seconds { reads, commits });
}

/// The histogram of both operations.
#[derive(Debug)]
struct Seconds {
    reads: Latency,
    commits: Latency,
}

impl EncodeMetric for Seconds {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (operation, latency) in [("read", &self.reads), ("commit", &self.commits)] {
            // The encoder accumulates the buckets.
            let bounds = LATENCY_SECONDS.into_iter().chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = bounds.zip(latency.counts).collect();
            encoder.encode_family(&[("operation", operation)])?.encode_histogram::<NoLabelSet>(
                latency.total.as_secs_f64(),
                latency.counts.iter().sum(),
                &buckets,
                None,
            )?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}
