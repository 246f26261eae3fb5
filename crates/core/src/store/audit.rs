//! The audit as it is kept: chained records and signed checkpoints.

use super::StoreError;
use crate::BoxFuture;
use crate::audit::{AuditCheckpoint, AuditEvent, AuditRow};
use crate::id::CallId;

/// The audit. Records of calls, questions, grants and switches are written by the stores in the transaction of what they are about.
pub trait AuditStore: Send + Sync {
    /// Adds a record that belongs to no other row.
    fn append(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Chains that have records, with the number of the newest record of each. A database on one machine has one; one that several daemons
    /// share has one for each of them.
    fn chains(&self) -> BoxFuture<'_, Result<Vec<(u64, u64)>, StoreError>>;

    /// Records of a chain after number `after`, in order, at most `limit`.
    fn records(
        &self,
        chain: u64,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>>;

    /// Everything that is recorded of a call, in order.
    fn records_of(&self, call: CallId) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>>;

    /// Signs the newest record of the chain that this process writes; `None` = there is no key, or nothing new since the last one.
    fn checkpoint_now(&self) -> BoxFuture<'_, Result<Option<AuditCheckpoint>, StoreError>>;

    /// The checkpoints of a chain, in order.
    fn checkpoints(&self, chain: u64) -> BoxFuture<'_, Result<Vec<AuditCheckpoint>, StoreError>>;
}
