//! Deletes a list.

use super::row::{ListReply, writer};
use crate::context::OpContext;
use crate::error::OpError;

/// The list to delete.
#[derive(Debug, Clone)]
pub struct DeleteListRequest {
    /// Its name.
    pub name: String,
}

/// Deletes a list and returns it; [`super::undo()`] restores it.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn delete(ctx: &OpContext<'_>, request: DeleteListRequest) -> Result<ListReply, OpError> {
    let gone = ctx.toolcrib.lists().delete(&writer(&ctx.store), Some(&request.name)).await?;
    Ok(ListReply::new(&ctx.store, gone))
}
