//! Writes a memory.

use toolcrib_assistant::memory::NewMemory;
use toolcrib_core::MemoryCategory;

use super::row::{MemoryReply, author};
use crate::context::OpContext;
use crate::error::OpError;

/// A text to store under a key.
#[derive(Debug, Clone)]
pub struct EditMemoryRequest {
    /// The key; a new one adds a memory.
    pub key: String,
    /// The text.
    pub content: String,
    /// The group; `None` keeps the group of an existing memory, and a new one gets the general
    /// group.
    pub category: Option<MemoryCategory>,
}

/// Writes a memory. The text then counts as the caller's, so it is no longer untrusted.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::Conflict`], [`OpError::Store`].
pub async fn edit(ctx: &OpContext<'_>, request: EditMemoryRequest) -> Result<MemoryReply, OpError> {
    let new = NewMemory {
        owner: ctx.store.owner,
        key: &request.key,
        content: request.content.trim(),
        category: request.category,
        author: author(&ctx.store),
        untrusted: None,
    };
    let (_, after) = ctx.toolcrib.memories().store(new).await?;
    Ok(MemoryReply::new(&ctx.store, after))
}
