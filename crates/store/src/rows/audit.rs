//! The audit: chained records and signed checkpoints.

use toolcrib_core::*;

use crate::store::SqliteStore;

impl AuditStore for SqliteStore {
    fn append(&self, _event: AuditEvent) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn chains(&self) -> BoxFuture<'_, Result<Vec<(u64, u64)>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn records(&self, _chain: u64, _after: u64, _limit: usize) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn records_of(&self, _call: CallId) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn checkpoint_now(&self) -> BoxFuture<'_, Result<Option<AuditCheckpoint>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn checkpoints(&self, _chain: u64) -> BoxFuture<'_, Result<Vec<AuditCheckpoint>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
}
