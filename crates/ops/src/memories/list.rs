//! Lists memories.

use super::row::MemoryReply;
use crate::context::OpContext;
use crate::error::OpError;

/// All memories, or those that match a need.
#[derive(Debug, Clone, Default)]
pub struct ListMemoriesRequest {
    /// A need in words; `None` selects all memories.
    pub query: Option<String>,
}

/// Maximum number of memories that match a need.
const FOUND: usize = 20;

/// Lists the owner's memories, sorted by key; if they match a need, the best first.
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
