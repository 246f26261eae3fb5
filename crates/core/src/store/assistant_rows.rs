//! Store of the assistant's rows.

use super::StoreError;
use crate::BoxFuture;
use crate::assistant_row::{AssistantRow, AssistantRowChange, AssistantRowWrite, RowKind};

/// Maximum number of stored changes per owner and kind. A list of 500 items has about 50 KB, so the
/// history of lists takes at most about 15 MB.
pub const ROW_CHANGES_KEPT: i64 = 300;
/// Maximum age of stored changes in milliseconds: 30 days. Afterwards deleted content cannot be
/// restored.
pub const ROW_CHANGES_AGE: i64 = 30 * 24 * 3_600_000;

/// Stores rows of the assistant, and the changes that can be undone.
pub trait AssistantRowStore: Send + Sync {
    /// Returns one row.
    fn assistant_row<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<AssistantRow>, StoreError>>;

    /// Returns all rows of a kind that an owner has, sorted by key.
    fn assistant_rows<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
    ) -> BoxFuture<'a, Result<Vec<AssistantRow>, StoreError>>;

    /// Returns the owners that have rows of a kind, sorted.
    fn assistant_row_owners(&self, kind: RowKind)
    -> BoxFuture<'_, Result<Vec<String>, StoreError>>;

    /// Writes rows and records the changes, all or none. A row that is not at the expected revision
    /// is a [`StoreError::Conflict`].
    fn write_assistant_rows(
        &self,
        writes: Vec<AssistantRowWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns the last changes of a kind, or of one row, newest first.
    fn assistant_row_changes<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
        key: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<AssistantRowChange>, StoreError>>;
}
