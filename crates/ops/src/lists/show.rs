//! Shows a list.

use super::row::ListReply;
use crate::context::OpContext;
use crate::error::OpError;

/// The list to show.
#[derive(Debug, Clone, Default)]
pub struct ShowListRequest {
    /// Its name; `None` selects the one that was changed last.
    pub name: Option<String>,
}

/// Shows a list.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Invalid`] if the owner has no list, [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, request: ShowListRequest) -> Result<ListReply, OpError> {
    let list = ctx.toolcrib.lists().get(ctx.store.owner, request.name.as_deref()).await?;
    Ok(ListReply::new(&ctx.store, list))
}
