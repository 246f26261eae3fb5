//! Rows of the assistant and the changes that can be undone, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::{
    AssistantRow, AssistantRowChange, AssistantRowStore, AssistantRowWrite, BoxFuture, RowKind,
    StoreError,
};

/// Owner, kind and key.
type RowKey = (String, RowKind, String);

#[derive(Default)]
struct Rows {
    rows: BTreeMap<RowKey, AssistantRow>,
    changes: Vec<(String, RowKind, AssistantRowChange)>,
}

/// An [`AssistantRowStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemoryAssistantRows {
    rows: Mutex<Rows>,
}

impl MemoryAssistantRows {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn write_all(&mut self, writes: Vec<AssistantRowWrite>) -> Result<(), StoreError> {
        for write in &writes {
            let place = (write.owner.clone(), write.kind, write.key.clone());
            if self.rows.get(&place).map(|row| row.revision) != write.expected {
                return Err(StoreError::Conflict(write.key.clone()));
            }
        }
        writes.into_iter().for_each(|write| self.apply(write));
        Ok(())
    }

    fn apply(&mut self, write: AssistantRowWrite) {
        let AssistantRowWrite { owner, kind, key, body, note, author, at, undoes, .. } = write;
        let place = (owner.clone(), kind, key.clone());
        let number = i64::try_from(self.changes.len()).unwrap_or(i64::MAX).saturating_add(1);
        let before = self.rows.get(&place).map(|row| row.body.clone());
        let can_be_undone = undoes.is_none();
        let change = AssistantRowChange {
            number,
            key: key.clone(),
            before,
            note,
            author,
            at,
            can_be_undone,
        };
        self.changes.push((owner, kind, change));
        for (_, _, undone) in &mut self.changes {
            undone.can_be_undone &= Some(undone.number) != undoes;
        }
        match body {
            Some(body) => {
                self.rows.insert(place, AssistantRow { key, revision: number, body });
            }
            None => {
                self.rows.remove(&place);
            }
        }
    }
}

impl AssistantRowStore for MemoryAssistantRows {
    fn assistant_row<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<AssistantRow>, StoreError>> {
        let found = self.lock().rows.get(&(owner.to_owned(), kind, key.to_owned())).cloned();
        Box::pin(ready(Ok(found)))
    }

    fn assistant_rows<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
    ) -> BoxFuture<'a, Result<Vec<AssistantRow>, StoreError>> {
        let rows = self.lock();
        let is_wanted = |(place, _): &(&RowKey, &AssistantRow)| place.0 == owner && place.1 == kind;
        let found = rows.rows.iter().filter(is_wanted).map(|(_, row)| row.clone()).collect();
        Box::pin(ready(Ok(found)))
    }

    fn assistant_row_owners(
        &self,
        kind: RowKind,
    ) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        let rows = self.lock();
        let of_kind = rows.rows.keys().filter(|place| place.1 == kind);
        let owners: BTreeSet<String> = of_kind.map(|place| place.0.clone()).collect();
        Box::pin(ready(Ok(owners.into_iter().collect())))
    }

    fn write_assistant_rows(
        &self,
        writes: Vec<AssistantRowWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.lock().write_all(writes)))
    }

    fn assistant_row_changes<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
        key: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<AssistantRowChange>, StoreError>> {
        let rows = self.lock();
        let fits = |(whose, of, change): &&(String, RowKind, AssistantRowChange)| {
            whose == owner && *of == kind && key.is_none_or(|key| change.key == key)
        };
        let changes = rows.changes.iter().rev().filter(fits).take(limit);
        let changes = changes.map(|(_, _, change)| change.clone()).collect();
        Box::pin(ready(Ok(changes)))
    }
}
