//! Tokens, in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::{ApiToken, BoxFuture, Revocation, StoreError, TokenHash, TokenId, TokenStore};

/// Maximum number of tokens: more than an owner creates, so that only a bug reaches it.
const KEPT: usize = 10_000;

/// A [`TokenStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemoryTokens {
    rows: Mutex<BTreeMap<TokenId, ApiToken>>,
}

impl MemoryTokens {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<TokenId, ApiToken>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, token: ApiToken) -> Result<(), StoreError> {
        let mut rows = self.lock();
        if rows.values().any(|old| old.id == token.id || old.hash == token.hash) {
            return Err(StoreError::Conflict(token.id.to_string()));
        }
        if rows.len() >= KEPT {
            return Err(StoreError::Full(format!("there are {KEPT} tokens already")));
        }
        rows.insert(token.id, ApiToken { revoked: None, last_used_at: None, ..token });
        Ok(())
    }

    fn revoke(&self, id: TokenId, by: &str, at: i64) -> bool {
        let mut rows = self.lock();
        let Some(token) = rows.get_mut(&id).filter(|token| token.revoked.is_none()) else {
            return false;
        };
        token.revoked = Some(Revocation { by: by.to_owned(), at });
        true
    }
}

impl TokenStore for MemoryTokens {
    fn add_token(&self, token: ApiToken) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(ready(self.add(token)))
    }

    fn token_by_hash<'a>(
        &'a self,
        hash: &'a TokenHash,
    ) -> BoxFuture<'a, Result<Option<ApiToken>, StoreError>> {
        let found = self.lock().values().find(|token| token.hash == *hash).cloned();
        Box::pin(ready(Ok(found)))
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<ApiToken>, StoreError>> {
        Box::pin(ready(Ok(self.lock().values().cloned().collect())))
    }

    fn revoke_token<'a>(
        &'a self,
        id: TokenId,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(Ok(self.revoke(id, by, at))))
    }

    fn touch_token(&self, id: TokenId, at: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        if let Some(token) = self.lock().get_mut(&id) {
            token.last_used_at = token.last_used_at.max(Some(at));
        }
        Box::pin(ready(Ok(())))
    }
}
