//! What models and tools used.

use toolcrib_core::*;

use crate::store::SqliteStore;

impl UsageStore for SqliteStore {
    fn add_usage(&self, _row: UsageRow) {}
    fn usage<'a>(&'a self, _owner: &'a str, _by: UsageBy, _since: Option<i64>) -> BoxFuture<'a, Result<Vec<UsageSum>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn last_usage(&self, _run: RunId) -> BoxFuture<'_, Result<Option<UsageRow>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
}
