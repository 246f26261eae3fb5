//! The context of operations on tokens.

use toolcrib_app::Secrets;
use toolcrib_core::{ApiToken, BoxFuture, Clock as _, StoreError, SystemClock, TokenId};

use super::rights::CallerRights;
use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// The tokens of a daemon.
pub trait TokenTable: Send + Sync {
    /// Generates a random token.
    ///
    /// # Errors
    /// [`OpError::Internal`] if the system provides no random bits.
    fn generate(&self) -> Result<String, OpError>;

    /// Returns all tokens, oldest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<ApiToken>, StoreError>>;

    /// Stores a new token, which is masked in all output from then on. Returns `false` if a valid
    /// token already has its name.
    fn add<'a>(&'a self, token: &'a str, row: ApiToken) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Revokes a token, which is no longer valid when this returns. Returns `false` if it was
    /// already revoked.
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
    /// The secrets to mask in audit records.
    pub secrets: &'a Secrets,
    /// The tokens.
    pub tokens: &'a dyn TokenTable,
    /// The rights of the caller, which no token that it creates or revokes exceeds.
    pub rights: CallerRights<'a>,
}

impl TokenContext<'_> {
    /// Returns the tokens of the caller's owner, oldest first; all tokens if the caller is the
    /// local owner.
    pub(super) async fn visible(&self) -> Result<Vec<ApiToken>, OpError> {
        let mut tokens = self.tokens.list().await?;
        let owner = self.store.owner;
        tokens.retain(|token| owner.is_empty() || token.owner == owner);
        Ok(tokens)
    }

    /// Returns one of the visible tokens.
    pub(super) async fn find(&self, id: TokenId) -> Result<ApiToken, OpError> {
        let found = self.visible().await?.into_iter().find(|token| token.id == id);
        found.ok_or_else(|| OpError::not_found(Resource::Token, id))
    }
}

/// Returns the description of a token in audit records.
pub(super) fn audit_text(token: &ApiToken) -> String {
    format!("{} \"{}\" ({})", token.id, token.name, token.roles.join(", "))
}

/// Returns the current time in milliseconds since 1970.
pub(super) fn now() -> i64 {
    SystemClock.now_ms()
}
