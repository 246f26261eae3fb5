//! Revokes a token.

use serde::Serialize;
use toolcrib_core::TokenId;

use super::context::{TokenContext, audit_text};
use crate::administration::{self, Act};
use crate::error::OpError;

/// The token to revoke.
#[derive(Debug, Clone, Copy)]
pub struct RevokeTokenRequest {
    /// Its id.
    pub id: TokenId,
}

/// The revoked token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RevokedToken {
    /// Its id.
    pub revoked: TokenId,
    /// Whether this request revoked it. Revoking a token twice has the same result as once.
    pub changed: bool,
}

/// Revokes a token, which is no longer valid when this returns.
///
/// # Errors
/// [`OpError::NotFound`]; [`OpError::Denied`] if it may call a tool that the caller may not call;
/// [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn revoke(
    ctx: &TokenContext<'_>,
    request: RevokeTokenRequest,
) -> Result<RevokedToken, OpError> {
    let token = ctx.find(request.id).await?;
    ctx.rights.require_tools_of(token.tools.as_deref())?;
    let changed = ctx.tokens.revoke(&token, ctx.store.actor).await?;
    if changed {
        let act = Act::new("token.revoke", audit_text(&token));
        administration::record(&ctx.store, ctx.secrets, act).await?;
    }
    Ok(RevokedToken { revoked: token.id, changed })
}
