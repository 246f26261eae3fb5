//! Switches, in memory.

use std::future::ready;
use std::sync::Mutex;

use toolcrib_core::{BoxFuture, StoreError, Switch, SwitchStore};

/// A [`SwitchStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemorySwitches {
    rows: Mutex<Vec<Switch>>,
}

impl SwitchStore for MemorySwitches {
    fn set_switch(&self, _switch: Switch) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn unset_switch<'a>(
        &'a self,
        _owner: &'a str,
        _name: &'a str,
        _by: &'a str,
        _at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(Ok(false)))
    }

    fn switches<'a>(&'a self, _owner: &'a str) -> BoxFuture<'a, Result<Vec<Switch>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }
}
