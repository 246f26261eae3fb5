//! Shows a list.

use super::row::ListReply;
use crate::context::OpContext;
use crate::error::OpError;

/// Which list.
#[derive(Debug, Clone, Default)]
pub struct ShowListRequest {
    /// Its name; `None` = the one that was changed last.
    pub name: Option<String>,
}

/// Shows a list.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Invalid`] if there is no list at all, [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, request: ShowListRequest) -> Result<ListReply, OpError> {
    let list = ctx.toolcrib.lists().get(ctx.store.owner, request.name.as_deref()).await?;
    Ok(ListReply::new(&ctx.store, list))
}
