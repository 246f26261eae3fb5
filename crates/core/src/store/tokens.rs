//! Tokens of people and programs that come in from outside.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::BoxFuture;
use crate::id::TokenId;

/// One token, without the token itself: of that only the hash is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiToken {
    /// Its id.
    pub id: TokenId,
    /// What it is called, for people.
    pub name: String,
    /// Of the token.
    pub hash: TokenHash,
    /// Words of its roles; one that is not known gives nothing.
    pub roles: Vec<String>,
    /// Whose rows it sees and writes; empty = the only owner there is.
    pub owner: String,
    /// Names or globs of the tools that it may call; `None` = all in view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Who made it.
    pub created_by: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// From when on it no longer holds; `None` = it holds until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Who took it back, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Revocation>,
    /// When it was used last, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<i64>,
}

impl ApiToken {
    /// Whether it holds at this time (milliseconds since 1970).
    #[must_use]
    pub fn holds_at(&self, now: i64) -> bool {
        self.revoked.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// SHA-256 of a token in hexadecimal. A token is 256 random bits, so that nothing slower is needed.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenHash(String);

impl TokenHash {
    /// Of this token.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(crate::canonical::sha256_text(token))
    }

    /// The hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// No one who reads a log needs it.
impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash")
    }
}

/// That a token was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocation {
    /// Who took it back.
    pub by: String,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// Tokens. None is ever deleted: what was done with it names it.
pub trait TokenStore: Send + Sync {
    /// Keeps a new one, through a power cut too; an id or a hash that is there already is a [`StoreError::Conflict`]. It is neither revoked nor
    /// used yet, whatever the row says.
    fn add_token(&self, token: ApiToken) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The token of this hash, whether it holds or not.
    fn token_by_hash<'a>(
        &'a self,
        hash: &'a TokenHash,
    ) -> BoxFuture<'a, Result<Option<ApiToken>, StoreError>>;

    /// All of them, oldest first.
    fn tokens(&self) -> BoxFuture<'_, Result<Vec<ApiToken>, StoreError>>;

    /// Takes one back, through a power cut too; `false` = there is none, or it was taken back before.
    fn revoke_token<'a>(
        &'a self,
        id: TokenId,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Remembers that it was used at this time; an earlier time changes nothing.
    fn touch_token(&self, id: TokenId, at: i64) -> BoxFuture<'_, Result<(), StoreError>>;
}
