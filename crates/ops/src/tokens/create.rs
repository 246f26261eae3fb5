//! Creates a token.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{ApiToken, TokenHash, TokenId};

use super::context::{TokenContext, audit_text, now};
use super::rights::beyond;
use super::row::{MadeToken, TokenRow};
use crate::administration::{self, Act};
use crate::error::OpError;
use crate::role::Role;

/// Maximum number of characters of a token's name.
const NAME_CHARS: usize = 60;
/// Maximum lifetime of a token: ten years.
const LONGEST_SECONDS: u64 = 10 * 366 * 86_400;

/// A token to create.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NewToken")]
#[serde(deny_unknown_fields)]
pub struct CreateTokenRequest {
    /// Its name for people: 1 to 60 characters on one line.
    pub name: String,
    /// Its roles, at most those of its creator.
    pub roles: Vec<Role>,
    /// Tools that it may call, in the notation of tool lists: exact, `group:NAME`, `server:NAME`,
    /// or globs with `*`; absent = all in view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Owner of the rows that it reads and writes; by default the owner of its creator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Seconds for which it is valid; absent = until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
}

/// Creates a token with at most the roles, the tools and the time of the caller. Only the reply
/// contains the token itself.
///
/// # Errors
/// [`OpError::Invalid`]; [`OpError::Denied`] for rights that the caller does not have;
/// [`OpError::Conflict`] if a valid token already has the name; [`OpError::Internal`],
/// [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn create(
    ctx: &TokenContext<'_>,
    request: CreateTokenRequest,
) -> Result<MadeToken, OpError> {
    let token = ctx.tokens.generate()?;
    let now = now();
    let row = validate(ctx, request, TokenHash::from_token(&token), now)?;
    if !ctx.tokens.add(&token, row.clone()).await? {
        return Err(OpError::Conflict(format!(
            "a token with the name \"{}\" is valid already; revoke it first, or choose another name",
            row.name
        )));
    }
    let act = Act::new("token.add", audit_text(&row));
    administration::record(&ctx.store, ctx.secrets, act).await?;
    Ok(MadeToken { token, row: TokenRow::new(row, now) })
}

/// Validates the request and returns the row of the token: its rights must not exceed those of its
/// creator.
fn validate(
    ctx: &TokenContext<'_>,
    request: CreateTokenRequest,
    hash: TokenHash,
    now: i64,
) -> Result<ApiToken, OpError> {
    let CreateTokenRequest { name, roles, tools, owner, expires_in_seconds } = request;
    let name = name.trim().to_owned();
    if name.is_empty() || name.chars().count() > NAME_CHARS || name.chars().any(char::is_control) {
        return Err(OpError::Invalid(format!("name is 1 to {NAME_CHARS} characters in one line")));
    }
    let own = ctx.store.owner;
    let owner = owner.unwrap_or_else(|| own.to_owned());
    if owner != own && !own.is_empty() {
        return Err(beyond("the rows of another owner"));
    }
    let expires_at = expiry(expires_in_seconds, now)?;
    ctx.rights.require_expiry(expires_at)?;
    let role_names = ctx.rights.require_roles(&roles)?;
    if owner != own && roles.iter().any(|role| *role > Role::Approver) {
        let why = "operator and owner act on the whole daemon: a token of another owner has the roles viewer, caller or approver";
        return Err(OpError::Invalid(why.to_owned()));
    }
    ctx.rights.require_new_tools(tools.as_deref())?;
    Ok(ApiToken {
        id: TokenId::fresh(),
        name,
        hash,
        roles: role_names,
        owner,
        tools,
        created_by: ctx.store.actor.to_owned(),
        created_at: now,
        expires_at,
        revoked: None,
        last_used_at: None,
    })
}

fn expiry(seconds: Option<u64>, now: i64) -> Result<Option<i64>, OpError> {
    match seconds {
        None => Ok(None),
        Some(seconds @ 1..=LONGEST_SECONDS) => {
            Ok(Some(now.saturating_add_unsigned(seconds.saturating_mul(1_000))))
        }
        Some(_) => {
            Err(OpError::Invalid(format!("expires_in_seconds is from 1 to {LONGEST_SECONDS}")))
        }
    }
}
