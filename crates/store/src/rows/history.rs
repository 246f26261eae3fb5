//! Looking back at calls.

use toolcrib_core::*;

use crate::store::SqliteStore;

impl CallHistory for SqliteStore {
    fn calls(&self, _filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn calls_like<'a>(&'a self, _owner: &'a str, _prefix: &'a str, _limit: usize) -> BoxFuture<'a, Result<Vec<CallId>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn metrics<'a>(&'a self, _owner: &'a str, _since: Option<i64>) -> BoxFuture<'a, Result<Vec<ToolMetrics>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
}
