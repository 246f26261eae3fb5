//! Memories and the changes that can be undone, in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::{BoxFuture, Memory, MemoryChange, MemoryStore, MemoryWrite, StoreError};

/// A recorded change with its owner, and whether it can be undone.
struct Recorded {
    owner: String,
    change: MemoryChange,
    can_be_undone: bool,
}

#[derive(Default)]
struct Rows {
    memories: BTreeMap<(String, String), Memory>,
    changes: Vec<Recorded>,
}

/// A [`MemoryStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemoryMemories {
    rows: Mutex<Rows>,
}

impl MemoryMemories {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn write(&mut self, write: MemoryWrite) -> Result<(), StoreError> {
        let MemoryWrite { owner, key, expected, memory, author, at, undoes } = write;
        let place = (owner.clone(), key.clone());
        let before = self.memories.get(&place).cloned();
        if before.as_ref().map(|before| before.revision) != expected {
            return Err(StoreError::Conflict(key));
        }
        let number = i64::try_from(self.changes.len()).unwrap_or(i64::MAX).saturating_add(1);
        let can_be_undone = undoes.is_none();
        let change = MemoryChange { number, key, before, author, at };
        self.changes.push(Recorded { owner, change, can_be_undone });
        match memory {
            Some(memory) => {
                self.memories.insert(place, Memory { revision: number, ..memory });
            }
            None => {
                self.memories.remove(&place);
            }
        }
        for undone in &mut self.changes {
            undone.can_be_undone &= Some(undone.change.number) != undoes;
        }
        Ok(())
    }
}

impl MemoryStore for MemoryMemories {
    fn memory<'a>(
        &'a self,
        owner: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Memory>, StoreError>> {
        let found = self.lock().memories.get(&(owner.to_owned(), key.to_owned())).cloned();
        Box::pin(ready(Ok(found)))
    }

    fn memories<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Memory>, StoreError>> {
        let of_owner =
            self.lock().memories.values().filter(|memory| memory.owner == owner).cloned().collect();
        Box::pin(ready(Ok(of_owner)))
    }

    fn memories_under<'a>(
        &'a self,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Memory>, StoreError>> {
        let under =
            self.lock().memories.values().filter(|memory| memory.key == key).cloned().collect();
        Box::pin(ready(Ok(under)))
    }

    fn memory_version<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<i64, StoreError>> {
        let rows = self.lock();
        let last = rows.changes.iter().rev().find(|recorded| recorded.owner == owner);
        let version = last.map_or(0, |recorded| recorded.change.number);
        Box::pin(ready(Ok(version)))
    }

    fn write_memory(&self, write: MemoryWrite) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().write(write)))
    }

    fn last_memory_change<'a>(
        &'a self,
        owner: &'a str,
        key: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<MemoryChange>, StoreError>> {
        let rows = self.lock();
        let fits = |recorded: &&Recorded| {
            recorded.can_be_undone
                && recorded.owner == owner
                && key.is_none_or(|key| recorded.change.key == key)
        };
        let last = rows.changes.iter().rev().find(fits).map(|recorded| recorded.change.clone());
        Box::pin(ready(Ok(last)))
    }
}
