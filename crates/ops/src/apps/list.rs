//! Lists paired apps, and shows one.

use super::owner::apps;
use super::row::AppReply;
use crate::context::OpContext;
use crate::error::OpError;

/// Lists apps by name, with the state of their last health check.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(ctx: &OpContext<'_>) -> Result<Vec<AppReply>, OpError> {
    if !ctx.store.owner.is_empty() {
        return Ok(Vec::new());
    }
    Ok(ctx.toolcrib.apps().all().await?.into_iter().map(Into::into).collect())
}

/// Shows an app, by its name or id.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, app: &str) -> Result<AppReply, OpError> {
    Ok(apps(ctx)?.find(app).await?.into())
}
