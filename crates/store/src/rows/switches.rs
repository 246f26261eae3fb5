//! Switches.

use toolcrib_core::*;

use crate::store::SqliteStore;

impl SwitchStore for SqliteStore {
    fn set_switch(&self, _switch: Switch) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn unset_switch<'a>(&'a self, _owner: &'a str, _name: &'a str, _by: &'a str, _at: i64) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
    fn switches<'a>(&'a self, _owner: &'a str) -> BoxFuture<'a, Result<Vec<Switch>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
    }
}
