//! Audit store: chained records and signed checkpoints.

use super::StoreError;
use crate::BoxFuture;
use crate::audit::{AuditCheckpoint, AuditEvent, AuditRow};
use crate::id::CallId;

/// Stores the audit. Other stores write the records of calls, questions, grants and switches in the
/// same transaction as the rows they are about.
pub trait AuditStore: Send + Sync {
    /// Appends a record that belongs to no other row.
    fn append(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns the chains with the number of their newest record. A database on one machine has one
    /// chain; a database shared by several daemons has one for each.
    fn chains(&self) -> BoxFuture<'_, Result<Vec<(u64, u64)>, StoreError>>;

    /// Records of a chain after number `after`, in order, at most `limit`.
    fn records(
        &self,
        chain: u64,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>>;

    /// Returns all records of a call, in order.
    fn records_of(&self, call: CallId) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>>;

    /// Signs the newest record of the chain that this process writes; `None` if there is no key, or
    /// no new record since the last checkpoint.
    fn checkpoint_now(&self) -> BoxFuture<'_, Result<Option<AuditCheckpoint>, StoreError>>;

    /// Returns the checkpoints of a chain, in order.
    fn checkpoints(&self, chain: u64) -> BoxFuture<'_, Result<Vec<AuditCheckpoint>, StoreError>>;
}
