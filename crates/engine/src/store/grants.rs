//! Remembered approvals, in memory.

use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::grant::GrantQuery;
use toolcrib_core::{BoxFuture, Grant, GrantId, GrantStore, ReasonKind, StoreError};

/// A [`GrantStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemoryGrants {
    grants: Mutex<Vec<Grant>>,
}

impl MemoryGrants {
    fn lock(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GrantStore for MemoryGrants {
    fn add(&self, grant: Grant) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut grants = self.lock();
        if grants.iter().any(|there| there.id == grant.id) {
            return Box::pin(ready(Err(StoreError::Conflict(grant.id.to_string()))));
        }
        grants.push(grant);
        Box::pin(ready(Ok(())))
    }

    fn find<'a>(
        &'a self,
        query: GrantQuery<'a>,
        reason: ReasonKind,
    ) -> BoxFuture<'a, Result<Option<Grant>, StoreError>> {
        let found = self.lock().iter().find(|grant| grant.covers(&query, reason)).cloned();
        Box::pin(ready(Ok(found)))
    }

    fn list<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>> {
        let grants = self.lock().iter().filter(|grant| grant.owner == owner).cloned().collect();
        Box::pin(ready(Ok(grants)))
    }

    fn revoke<'a>(
        &'a self,
        id: GrantId,
        _by: &'a str,
        _at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut grants = self.lock();
        let before = grants.len();
        grants.retain(|grant| grant.id != id);
        Box::pin(ready(Ok(grants.len() < before)))
    }
}
