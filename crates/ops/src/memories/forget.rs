//! Forgets a memory.

use super::row::{MemoryReply, author};
use crate::context::OpContext;
use crate::error::OpError;

/// The memory to forget.
#[derive(Debug, Clone)]
pub struct ForgetMemoryRequest {
    /// Its key.
    pub key: String,
}

/// Forgets a memory, and returns it.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn forget(
    ctx: &OpContext<'_>,
    request: ForgetMemoryRequest,
) -> Result<MemoryReply, OpError> {
    let memories = ctx.toolcrib.memories();
    let gone = memories.forget(ctx.store.owner, &request.key, &author(&ctx.store)).await?;
    Ok(MemoryReply::new(&ctx.store, gone))
}
