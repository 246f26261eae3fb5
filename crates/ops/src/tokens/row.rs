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
    /// What it may do.
    pub roles: Vec<String>,
    /// Whose rows it sees and writes; empty = the owner of this daemon.
    pub owner: String,
    /// Names or globs of the tools that it may call; absent = all in view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Who made it.
    pub created_by: String,
    /// When, in milliseconds since 1970.
    pub created_at: i64,
    /// When it ends, in milliseconds since 1970; absent = when it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<i64>,
    /// Who revoked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<String>,
    /// When it was used last, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<i64>,
    /// Whether it is valid now.
    pub holds: bool,
}

/// A token that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MadeToken {
    /// The token. It is shown only in this response and stored nowhere.
    pub token: String,
    /// The stored facts about the token.
    pub row: TokenRow,
}

impl TokenRow {
    /// The row of a stored token at this time.
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
