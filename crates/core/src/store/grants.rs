//! Grant store: remembered approvals.

use super::StoreError;
use crate::BoxFuture;
use crate::approval::ReasonKind;
use crate::grant::{Grant, GrantQuery};
use crate::id::GrantId;

/// Stores grants.
pub trait GrantStore: Send + Sync {
    /// Adds a grant; an existing id is a [`StoreError::Conflict`].
    fn add(&self, grant: Grant) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns the grant that answers a question of this kind about this call.
    fn find<'a>(
        &'a self,
        query: GrantQuery<'a>,
        reason: ReasonKind,
    ) -> BoxFuture<'a, Result<Option<Grant>, StoreError>>;

    /// Returns all grants of an owner, oldest first.
    fn list<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>>;

    /// Revokes a grant, with the name of the person and the Unix time in milliseconds; `false` if
    /// it does not exist.
    fn revoke<'a>(
        &'a self,
        id: GrantId,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
}
