//! Lists memories.

use super::row::MemoryReply;
use crate::context::OpContext;
use crate::error::OpError;

/// All memories, or those that fit a need.
#[derive(Debug, Clone, Default)]
pub struct ListMemoriesRequest {
    /// A need in words; `None` = all.
    pub query: Option<String>,
}

/// Memories that fit a need are at most this many.
const FOUND: usize = 20;

/// Lists the owner's memories, sorted by key; those that fit a need, best first.
///
/// # Errors
/// [`OpError::Store`], [`OpError::Internal`].
pub async fn list(
    ctx: &OpContext<'_>,
    request: ListMemoriesRequest,
) -> Result<Vec<MemoryReply>, OpError> {
    let memories = ctx.toolcrib.memories();
    let found = match request.query {
        None => memories.all(ctx.store.owner).await?,
        Some(query) => {
            let found = memories.recall(ctx.store.owner, &query, FOUND).await?;
            found.into_iter().map(|found| found.memory).collect()
        }
    };
    Ok(found.into_iter().map(|memory| MemoryReply::new(&ctx.store, memory)).collect())
}
