//! Revokes a grant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{Clock as _, GrantId, SystemClock};

use super::grant::find;
use crate::context::StoreContext;
use crate::error::OpError;

/// The grant to revoke.
#[derive(Debug, Clone, Copy)]
pub struct RevokeGrantRequest {
    /// Its id.
    pub id: GrantId,
}

/// A revoked grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Revoked")]
pub struct RevokedGrant {
    /// Its id.
    #[schemars(with = "String")]
    pub revoked: GrantId,
    /// The person or token that revoked it.
    pub by: String,
    /// The operation that it covered; not part of the REST document.
    #[serde(skip)]
    #[schemars(skip)]
    pub operation: String,
}

/// Revokes a grant: calls that it covered ask again at once. The store writes the audit record in
/// the same transaction.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Overtaken`], [`OpError::Store`].
pub async fn revoke(
    ctx: &StoreContext<'_>,
    request: RevokeGrantRequest,
) -> Result<RevokedGrant, OpError> {
    let grant = find(ctx, request.id).await?;
    if !ctx.stores.grants.revoke(grant.id, ctx.actor, SystemClock.now_ms()).await? {
        return Err(OpError::Overtaken(format!(
            "{} was revoked just now by another process",
            grant.id
        )));
    }
    Ok(RevokedGrant { revoked: grant.id, by: ctx.actor.to_owned(), operation: grant.operation })
}
