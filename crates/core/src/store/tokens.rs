//! API tokens of people and programs that connect from outside.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::BoxFuture;
use crate::id::TokenId;

/// A token's row. It contains the hash, never the token itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiToken {
    /// Its id.
    pub id: TokenId,
    /// Name, for people.
    pub name: String,
    /// Hash of the token.
    pub hash: TokenHash,
    /// Names of its roles; an unknown role grants nothing.
    pub roles: Vec<String>,
    /// Owner whose rows the token reads and writes; empty means the single default owner.
    pub owner: String,
    /// Names or globs of the tools that it may call; `None` allows every tool in its view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Name of the person who created it.
    pub created_by: String,
    /// Unix time in milliseconds.
    pub created_at: i64,
    /// Expiry, Unix time in milliseconds; `None` means until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Revocation, if it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Revocation>,
    /// Last use, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<i64>,
}

impl ApiToken {
    /// Returns whether the token is valid at this Unix time in milliseconds.
    #[must_use]
    pub fn is_valid_at(&self, now: i64) -> bool {
        self.revoked.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// SHA-256 of a token in hexadecimal. A token has 256 random bits, so a slow password hash is not
/// needed.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenHash(String);

impl TokenHash {
    /// Returns the hash of this token.
    #[must_use]
    pub fn from_token(token: &str) -> Self {
        Self(crate::canonical_json::sha256_text(token))
    }

    /// Returns the hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Hides the hash in logs.
impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash")
    }
}

/// The revocation of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocation {
    /// Name of the person who revoked it.
    pub by: String,
    /// Unix time in milliseconds.
    pub at: i64,
}

/// Stores tokens. Tokens are never deleted, because audit records refer to them.
pub trait TokenStore: Send + Sync {
    /// Adds a token; the write survives a power failure. An existing id or hash is a
    /// [`StoreError::Conflict`]. The new token is neither revoked nor used, regardless of the given
    /// row.
    fn add_token(&self, token: ApiToken) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns the token with this hash, valid or not.
    fn token_by_hash<'a>(
        &'a self,
        hash: &'a TokenHash,
    ) -> BoxFuture<'a, Result<Option<ApiToken>, StoreError>>;

    /// Returns all tokens, oldest first.
    fn tokens(&self) -> BoxFuture<'_, Result<Vec<ApiToken>, StoreError>>;

    /// Revokes a token; the write survives a power failure. `false` if it does not exist or was
    /// revoked before.
    fn revoke_token<'a>(
        &'a self,
        id: TokenId,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Records a use at this time; an earlier time changes nothing.
    fn touch_token(&self, id: TokenId, at: i64) -> BoxFuture<'_, Result<(), StoreError>>;
}
