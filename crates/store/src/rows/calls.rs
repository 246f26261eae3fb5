//! Calls, accepted batches and whoever works on them.

use toolcrib_core::*;

use crate::store::SqliteStore;

impl CallStore for SqliteStore {
    fn claim(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn release(&self, _epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn worker(&self, _epoch: u64) -> BoxFuture<'_, Result<WorkerState, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn accept(&self, _batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn take_batch(&self, _id: BatchId, _epoch: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn done(&self, _id: BatchId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn begin(&self, _intent: Intent) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn settle(&self, _settlement: Settlement) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn call(&self, _call: CallId) -> BoxFuture<'_, Result<Option<StoredCall>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn open(&self) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn recover(&self, _epoch: u64, _now_ms: i64) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
}
