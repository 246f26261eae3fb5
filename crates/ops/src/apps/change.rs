//! Renames and revokes apps.

use super::owner::{apps, changed};
use super::row::AppReply;
use crate::context::OpContext;
use crate::error::OpError;

/// The app to rename.
#[derive(Debug, Clone)]
pub struct RenameAppRequest {
    /// Its name or id.
    pub app: String,
    /// Its new name.
    pub name: String,
}

/// The app to revoke.
#[derive(Debug, Clone)]
pub struct RevokeAppRequest {
    /// Its name or id.
    pub app: String,
}

/// Renames an app. Its tools have the new name at once; rules with the old name do not match them.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Invalid`], [`OpError::Conflict`] if the name is used,
/// [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn rename(ctx: &OpContext<'_>, request: RenameAppRequest) -> Result<AppReply, OpError> {
    let RenameAppRequest { app, name } = request;
    let renamed = apps(ctx)?.rename(&app, &name, ctx.store.actor).await?;
    changed(ctx, "app.rename", format!("{app} to {name}")).await?;
    Ok(renamed.into())
}

/// Ends a pairing: the tools are gone, and the app's key opens nothing.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Vault`], [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn revoke(ctx: &OpContext<'_>, request: RevokeAppRequest) -> Result<AppReply, OpError> {
    let revoked = apps(ctx)?.revoke(&request.app, ctx.store.actor).await?;
    changed(ctx, "app.revoke", format!("{} ({})", revoked.name, revoked.fingerprint)).await?;
    Ok(revoked.into())
}
