//! Switches, in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::{BoxFuture, StoreError, Switch, SwitchStore};

/// Maximum number of switches of all owners together: more than there are tools, so that only a bug
/// reaches it.
const KEPT: usize = 10_000;

/// By owner and name.
type Rows = BTreeMap<(String, String), Switch>;

/// A [`SwitchStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemorySwitches {
    rows: Mutex<Rows>,
}

impl MemorySwitches {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SwitchStore for MemorySwitches {
    fn set_switch(&self, switch: Switch) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut rows = self.lock();
        let key = (switch.owner.clone(), switch.name.clone());
        if rows.len() >= KEPT && !rows.contains_key(&key) {
            let words = format!("there are {KEPT} switches already");
            return Box::pin(ready(Err(StoreError::Full(words))));
        }
        rows.insert(key, switch);
        Box::pin(ready(Ok(())))
    }

    fn unset_switch<'a>(
        &'a self,
        owner: &'a str,
        name: &'a str,
        _by: &'a str,
        _at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let was_there = self.lock().remove(&(owner.to_owned(), name.to_owned())).is_some();
        Box::pin(ready(Ok(was_there)))
    }

    fn switches<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Switch>, StoreError>> {
        let rows = self.lock();
        let found = rows.values().filter(|switch| switch.owner == owner).cloned().collect();
        Box::pin(ready(Ok(found)))
    }
}
