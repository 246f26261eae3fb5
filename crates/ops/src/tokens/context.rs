//! What the operations on tokens run on.

use toolcrib_app::Secrets;
use toolcrib_core::{ApiToken, BoxFuture, Clock as _, StoreError, SystemClock, TokenId};

use super::rights::CallerRights;
use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// The tokens of a daemon.
pub trait TokenTable: Send + Sync {
    /// A new random token.
    ///
    /// # Errors
    /// [`OpError::Internal`] if the system has no random bits.
    fn generate(&self) -> Result<String, OpError>;

    /// All tokens, oldest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<ApiToken>, StoreError>>;

    /// Stores a new token, which is masked in all output from then on. `false` = a valid token has
    /// its name.
    fn add<'a>(&'a self, token: &'a str, row: ApiToken) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Revokes a token; it is not valid any more when this returns. `false` = it was revoked
    /// before.
    fn revoke<'a>(
        &'a self,
        token: &'a ApiToken,
        by: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// The tokens of a daemon, and the caller.
#[derive(Clone, Copy)]
pub struct TokenContext<'a> {
    /// The caller and the stores.
    pub store: StoreContext<'a>,
    /// What is masked in audit records.
    pub secrets: &'a Secrets,
    /// The tokens.
    pub tokens: &'a dyn TokenTable,
    /// What the caller has: no token that it creates or revokes has more.
    pub rights: CallerRights<'a>,
}

impl TokenContext<'_> {
    /// The tokens of the caller's owner, oldest first; all if the caller is the local owner.
    pub(super) async fn visible(&self) -> Result<Vec<ApiToken>, OpError> {
        let mut tokens = self.tokens.list().await?;
        let owner = self.store.owner;
        tokens.retain(|token| owner.is_empty() || token.owner == owner);
        Ok(tokens)
    }

    /// One of them.
    pub(super) async fn find(&self, id: TokenId) -> Result<ApiToken, OpError> {
        let found = self.visible().await?.into_iter().find(|token| token.id == id);
        found.ok_or_else(|| OpError::not_found(Resource::Token, id))
    }
}

/// The description of a token in audit records.
pub(super) fn audit_text(token: &ApiToken) -> String {
    format!("{} \"{}\" ({})", token.id, token.name, token.roles.join(", "))
}

/// The present time in milliseconds since 1970.
pub(super) fn now() -> i64 {
    SystemClock.now_ms()
}
