//! Lists the lists.

use super::row::ListReply;
use crate::context::OpContext;
use crate::error::OpError;

/// All lists of the owner.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListListsRequest;

/// Returns the owner's lists, the last changed one first.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(ctx: &OpContext<'_>, _: ListListsRequest) -> Result<Vec<ListReply>, OpError> {
    let all = ctx.toolcrib.lists().all(ctx.store.owner).await?;
    Ok(all.into_iter().map(|list| ListReply::new(&ctx.store, list)).collect())
}
