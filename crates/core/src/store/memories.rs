//! Memory store.

use super::StoreError;
use crate::BoxFuture;
use crate::memory::{Memory, MemoryChange, MemoryWrite};

/// Maximum number of stored changes per owner; stored changes can be undone.
pub const MEMORY_CHANGES_KEPT: i64 = 1_000;
/// Maximum age of stored changes in milliseconds: 30 days. Afterwards forgotten content cannot be
/// restored.
pub const MEMORY_CHANGES_AGE: i64 = 30 * 24 * 3_600_000;

/// Stores memories, and the changes that can be undone.
pub trait MemoryStore: Send + Sync {
    /// Returns one memory.
    fn memory<'a>(
        &'a self,
        owner: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Memory>, StoreError>>;

    /// Returns all memories of an owner, sorted by key.
    fn memories<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Memory>, StoreError>>;

    /// Returns the memories of all owners under a key, sorted by owner.
    fn memories_under<'a>(&'a self, key: &'a str)
    -> BoxFuture<'a, Result<Vec<Memory>, StoreError>>;

    /// Returns the number of the owner's last change; 0 if there was none. As long as it is
    /// unchanged, the memories are unchanged.
    fn memory_version<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<i64, StoreError>>;

    /// Writes one memory and records the change. A row that is not at the expected revision is a
    /// [`StoreError::Conflict`], and nothing is written.
    fn write_memory(&self, write: MemoryWrite) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns the last change of an owner, or of one key, that was not undone and is not itself an
    /// undo.
    fn last_memory_change<'a>(
        &'a self,
        owner: &'a str,
        key: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<MemoryChange>, StoreError>>;
}
