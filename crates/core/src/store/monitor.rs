//! Monitoring of a store: the daemons that share it, and figures of its database.

use std::future::ready;
use std::path::PathBuf;
use std::time::Duration;

use super::StoreError;
use crate::BoxFuture;

/// Upper bounds of the buckets of [`Latency`], in seconds: from a read in memory to the statement
/// timeout of a shared database.
pub const LATENCY_SECONDS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0, 60.0];

/// A daemon that works on a shared store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Number of its claim.
    pub epoch: u64,
    /// Name of its machine.
    pub host: String,
    /// Id of its process on that machine.
    pub pid: u64,
    /// Version of its Toolcrib.
    pub version: String,
    /// When it opened the store, in milliseconds since 1970 by the clock of the store.
    pub started_at: i64,
    /// When it last renewed its lease, in milliseconds since 1970 by the clock of the store.
    pub heartbeat_at: i64,
    /// Whether its lease is still valid.
    pub is_alive: bool,
}

/// Durations of operations, in buckets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latency {
    /// Operations up to each bound of [`LATENCY_SECONDS`] and above the one before, then those
    /// above all bounds.
    pub counts: [u64; LATENCY_SECONDS.len() + 1],
    /// Time of all operations together.
    pub total: Duration,
}

/// Figures of a shared database, of this process since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseFigures {
    /// Most connections that the pool of reads opens.
    pub pool_limit: u64,
    /// Connections of the pool that a read uses now.
    pub pool_in_use: u64,
    /// Open connections of the pool that no read uses now.
    pub pool_idle: u64,
    /// Reads that had to wait for a connection of the pool.
    pub pool_waits: u64,
    /// Leases that were renewed.
    pub renewals: u64,
    /// Attempts to renew leases that failed, because the database was out of reach.
    pub failed_renewals: u64,
    /// Writes that were refused because their claim had been taken over.
    pub fenced_writes: u64,
    /// Reads, from the request for a connection to the rows.
    pub reads: Latency,
    /// Commits of queued writes, retries included.
    pub commits: Latency,
}

/// Reports the state of a store. The defaults are those of a store that one process uses.
pub trait StoreMonitor: Send + Sync {
    /// Returns the daemons that share this store, the oldest first; the list includes those whose
    /// lease has expired within the last day. Empty if the store is not shared.
    fn members(&self) -> BoxFuture<'_, Result<Vec<Member>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    /// Returns figures of the shared database; `None` if the store is not shared.
    fn figures(&self) -> Option<DatabaseFigures> {
        None
    }

    /// Returns the path of the database file; `None` if the store is not a file. A commit of any
    /// process changes it, or its write-ahead log beside it (`PATH-wal`).
    fn database_file(&self) -> Option<PathBuf> {
        None
    }
}

/// The monitor of stores in memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnsharedStore;

impl StoreMonitor for UnsharedStore {}
