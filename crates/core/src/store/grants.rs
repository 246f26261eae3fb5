//! Remembered approvals.

use super::StoreError;
use crate::BoxFuture;
use crate::approval::ReasonKind;
use crate::grant::{Grant, GrantQuery};
use crate::id::GrantId;

/// Remembered approvals.
pub trait GrantStore: Send + Sync {
    /// Remembers one; an id that is there already is a [`StoreError::Conflict`].
    fn add(&self, grant: Grant) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The grant that answers a question of this kind for this call.
    fn find<'a>(
        &'a self,
        query: GrantQuery<'a>,
        reason: ReasonKind,
    ) -> BoxFuture<'a, Result<Option<Grant>, StoreError>>;

    /// All of an owner, oldest first.
    fn list<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>>;

    /// Takes one back, by somebody at a time in milliseconds since 1970; `false` = there is none.
    fn revoke<'a>(
        &'a self,
        id: GrantId,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
}
