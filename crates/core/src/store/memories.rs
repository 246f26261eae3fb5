//! Memory store.

use super::StoreError;
use crate::BoxFuture;
use crate::memory::{Memory, MemoryChange, MemoryWrite};

/// Changes that are kept of one owner, so that they can be taken back.
pub const MEMORY_CHANGES_KEPT: i64 = 1_000;
/// How long they are kept, in milliseconds: 30 days. What was forgotten is then really gone.
pub const MEMORY_CHANGES_AGE: i64 = 30 * 24 * 3_600_000;

/// Stores memories, and the changes that can be taken back.
pub trait MemoryStore: Send + Sync {
    /// One memory.
    fn memory<'a>(
        &'a self,
        owner: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Memory>, StoreError>>;

    /// All memories of an owner, sorted by key.
    fn memories<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Memory>, StoreError>>;

    /// The memories of all owners under a key, sorted by owner.
    fn memories_under<'a>(&'a self, key: &'a str)
    -> BoxFuture<'a, Result<Vec<Memory>, StoreError>>;

    /// Number of the owner's last change; 0 = there was none. While it stays the same, so do the
    /// memories.
    fn memory_version<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<i64, StoreError>>;

    /// Writes one memory and records the change. A row that is not at the expected revision is a
    /// [`StoreError::Conflict`], and nothing is written.
    fn write_memory(&self, write: MemoryWrite) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The last change of an owner, or of one key, that was not taken back and takes back none.
    fn last_memory_change<'a>(
        &'a self,
        owner: &'a str,
        key: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<MemoryChange>, StoreError>>;
}
