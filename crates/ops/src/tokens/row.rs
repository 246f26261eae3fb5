//! Tokens in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{ApiToken, TokenId};

/// A token, without the token itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TokenRow {
    /// Its id, such as `token_…`.
    #[schemars(with = "String")]
    pub id: TokenId,
    /// Its name.
    pub name: String,
    /// Its roles.
    pub roles: Vec<String>,
    /// Owner of the rows that it reads and writes; empty = the owner of this daemon.
    pub owner: String,
    /// Names or globs of the tools that it may call; absent = all in view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The principal that created it.
    pub created_by: String,
    /// When it was created, in milliseconds since 1970.
    pub created_at: i64,
    /// When it expires, in milliseconds since 1970; absent = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// When it was revoked, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<i64>,
    /// The principal that revoked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<String>,
    /// When it was last used, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<i64>,
    /// Whether it is currently valid.
    pub holds: bool,
}

/// A new token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MadeToken {
    /// The token. Only this response contains it, and it is not stored.
    pub token: String,
    /// The stored row of the token.
    pub row: TokenRow,
}

impl TokenRow {
    /// Creates the row of a stored token at this time.
    #[must_use]
    pub fn new(token: ApiToken, now: i64) -> Self {
        let holds = token.is_valid_at(now);
        let (revoked_by, revoked_at) = token.revoked.map(|by| (by.by, by.at)).unzip();
        Self {
            id: token.id,
            name: token.name,
            roles: token.roles,
            owner: token.owner,
            tools: token.tools,
            created_by: token.created_by,
            created_at: token.created_at,
            expires_at: token.expires_at,
            revoked_at,
            revoked_by,
            last_used_at: token.last_used_at,
            holds,
        }
    }
}
