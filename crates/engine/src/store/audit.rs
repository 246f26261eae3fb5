//! The audit, in memory.

use std::future::ready;
use std::sync::Mutex;

use toolcrib_core::{
    AuditCheckpoint, AuditEvent, AuditRow, AuditStore, BoxFuture, CallId, StoreError,
};

/// An [`AuditStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemoryAudit {
    rows: Mutex<Vec<AuditRow>>,
}

impl AuditStore for MemoryAudit {
    fn append(&self, _event: AuditEvent) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn chains(&self) -> BoxFuture<'_, Result<Vec<(u64, u64)>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn records(
        &self,
        _chain: u64,
        _after: u64,
        _limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn records_of(&self, _call: CallId) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn checkpoint_now(&self) -> BoxFuture<'_, Result<Option<AuditCheckpoint>, StoreError>> {
        Box::pin(ready(Ok(None)))
    }

    fn checkpoints(&self, _chain: u64) -> BoxFuture<'_, Result<Vec<AuditCheckpoint>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }
}
