//! Rows of one kind with a typed body: reads them, and changes them while other processes do so
//! too.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolcrib_core::{
    AssistantRow, AssistantRowChange, AssistantRowStore, AssistantRowWrite, Author, Clock, RowKind,
    StoreError, SystemClock,
};

/// Maximum attempts at a change while other processes change the same row.
const ATTEMPTS: usize = 8;
/// Maximum changes that are searched for one that can be undone.
const UNDO_LOOK: usize = 100;

/// Why a row could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// Other processes kept changing it.
    #[error("\"{0}\" is being changed by another process. Try again.")]
    Contended(String),
    /// There is no change that can be undone.
    #[error("There is no change to undo.")]
    NothingToUndo,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Returns the sentence about similar names in an error about an unknown one.
pub(crate) fn near_names(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!(" Did you mean {}?", near.join(" or ")),
    }
}

/// The author of changes to rows.
#[derive(Debug, Clone)]
pub struct Writer {
    /// Owner of the rows.
    pub owner: String,
    /// Author of the change.
    pub author: Author,
    /// The source of the new text, if it is untrusted.
    pub untrusted: Option<String>,
}

/// One row of a write.
pub struct Step<T> {
    /// Key of the row.
    pub key: String,
    /// Revision of the row that the change is based on; `None` for a new row.
    pub expected: Option<i64>,
    /// The row after the change; `None` removes it.
    pub body: Option<T>,
}

/// A row with its revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored<T> {
    /// Key, unique for the owner and the kind.
    pub key: String,
    /// Number of the row's last change.
    pub revision: i64,
    /// Everything else.
    pub body: T,
}

/// The rows of one kind. Clones share the store.
pub struct TypedRows<T> {
    store: Arc<dyn AssistantRowStore>,
    clock: Arc<dyn Clock>,
    kind: RowKind,
    body: PhantomData<fn() -> T>,
}

impl<T> Clone for TypedRows<T> {
    fn clone(&self) -> Self {
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        Self { store, clock, kind: self.kind, body: PhantomData }
    }
}

impl<T: Serialize + DeserializeOwned> TypedRows<T> {
    /// Creates the rows of this kind in a store.
    #[must_use]
    pub fn new(store: Arc<dyn AssistantRowStore>, kind: RowKind) -> Self {
        Self { store, clock: Arc::new(SystemClock), kind, body: PhantomData }
    }

    /// Returns the Unix time in milliseconds.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Returns one row.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn get(&self, owner: &str, key: &str) -> Result<Option<Stored<T>>, RowError> {
        self.store.assistant_row(owner, self.kind, key).await?.map(stored).transpose()
    }

    /// Returns all rows of an owner, sorted by key.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn all(&self, owner: &str) -> Result<Vec<Stored<T>>, RowError> {
        let rows = self.store.assistant_rows(owner, self.kind).await?;
        rows.into_iter().map(stored).collect()
    }

    pub(crate) async fn owners(&self) -> Result<Vec<String>, RowError> {
        Ok(self.store.assistant_row_owners(self.kind).await?)
    }

    /// Writes rows in one transaction; `false` if one of them has changed since it was read.
    ///
    /// # Errors
    /// [`RowError`].
    pub async fn write(
        &self,
        writer: &Writer,
        note: &str,
        steps: Vec<Step<T>>,
    ) -> Result<bool, RowError> {
        let at = self.now();
        let write = |step: Step<T>| -> Result<AssistantRowWrite, RowError> {
            Ok(AssistantRowWrite {
                owner: writer.owner.clone(),
                kind: self.kind,
                key: step.key,
                expected: step.expected,
                body: step.body.map(serde_json::to_value).transpose().map_err(unreadable)?,
                note: note.to_owned(),
                author: writer.author.clone(),
                at,
                undoes: None,
            })
        };
        let writes = steps.into_iter().map(write).collect::<Result<_, _>>()?;
        self.written(writes).await
    }

    /// Changes one row: `next` computes it from the current one, and again if another process
    /// changed it meanwhile. An unchanged body is not written.
    ///
    /// # Errors
    /// The error of `next`, and [`RowError`].
    pub async fn change<R, E: From<RowError>>(
        &self,
        writer: &Writer,
        key: &str,
        next: impl Fn(Option<T>) -> Result<(Option<T>, String, R), E>,
    ) -> Result<R, E>
    where
        T: Clone + PartialEq,
    {
        for _ in 0..ATTEMPTS {
            let before = self.get(&writer.owner, key).await?;
            let expected = before.as_ref().map(|row| row.revision);
            let before = before.map(|row| row.body);
            let (after, note, answer) = next(before.clone())?;
            if after == before {
                return Ok(answer);
            }
            let step = Step { key: key.to_owned(), expected, body: after };
            if self.write(writer, &note, vec![step]).await? {
                return Ok(answer);
            }
        }
        Err(RowError::Contended(key.to_owned()).into())
    }

    /// Returns the last changes of a row, or of all, newest first.
    pub(crate) async fn changes(
        &self,
        owner: &str,
        key: Option<&str>,
        limit: usize,
    ) -> Result<Vec<AssistantRowChange>, RowError> {
        Ok(self.store.assistant_row_changes(owner, self.kind, key, limit).await?)
    }

    /// Undoes the last change of a row, or of all rows, together with the rows of the same write.
    /// Returns the keys with the current rows.
    pub(crate) async fn undo(
        &self,
        writer: &Writer,
        key: Option<&str>,
    ) -> Result<Vec<(String, Option<T>)>, RowError> {
        for _ in 0..ATTEMPTS {
            let changes = self.changes(&writer.owner, key, UNDO_LOOK).await?;
            let together =
                last_change(&self.changes(&writer.owner, None, UNDO_LOOK).await?, &changes);
            if together.is_empty() {
                return Err(RowError::NothingToUndo);
            }
            let (mut writes, mut keys) = (Vec::new(), HashMap::new());
            for change in together {
                let now = self.store.assistant_row(&writer.owner, self.kind, &change.key).await?;
                writes.push(AssistantRowWrite {
                    owner: writer.owner.clone(),
                    kind: self.kind,
                    key: change.key.clone(),
                    expected: now.map(|now| now.revision),
                    body: change.before.clone(),
                    note: format!("took back: {}", change.note),
                    author: writer.author.clone(),
                    at: self.now(),
                    undoes: Some(change.number),
                });
                keys.insert(change.key, change.before);
            }
            if self.written(writes).await? {
                let row = |(key, body): (String, Option<serde_json::Value>)| {
                    let body = body.map(serde_json::from_value).transpose().map_err(unreadable)?;
                    Ok((key, body))
                };
                return keys.into_iter().map(row).collect();
            }
        }
        Err(RowError::Contended(key.unwrap_or_default().to_owned()))
    }

    async fn written(&self, writes: Vec<AssistantRowWrite>) -> Result<bool, RowError> {
        match self.store.write_assistant_rows(writes).await {
            Ok(()) => Ok(true),
            Err(StoreError::Conflict(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the newest change of `candidates` that can be undone, and the others of the same write.
fn last_change(
    all: &[AssistantRowChange],
    candidates: &[AssistantRowChange],
) -> Vec<AssistantRowChange> {
    let Some(last) = candidates.iter().find(|change| change.can_be_undone) else {
        return Vec::new();
    };
    let is_of_same_write = |change: &&AssistantRowChange| {
        change.can_be_undone
            && (change.at, &change.note, &change.author) == (last.at, &last.note, &last.author)
    };
    let mut together: Vec<AssistantRowChange> =
        all.iter().filter(is_of_same_write).cloned().collect();
    // Only the newest change of each row: two equal changes within a millisecond are undone one by
    // one.
    let mut seen = std::collections::HashSet::new();
    together.retain(|change| seen.insert(change.key.clone()));
    if together.is_empty() { vec![last.clone()] } else { together }
}

fn stored<T: DeserializeOwned>(row: AssistantRow) -> Result<Stored<T>, RowError> {
    let AssistantRow { key, revision, body } = row;
    let body = serde_json::from_value(body).map_err(unreadable)?;
    Ok(Stored { key, revision, body })
}

fn unreadable(error: serde_json::Error) -> RowError {
    RowError::Store(StoreError::Failed(format!("a row of the assistant is unreadable: {error}")))
}
