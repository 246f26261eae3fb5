//! Shows a memory.

use super::row::MemoryReply;
use crate::context::OpContext;
use crate::error::OpError;

/// The memory to show.
#[derive(Debug, Clone)]
pub struct ShowMemoryRequest {
    /// Its key.
    pub key: String,
}

/// Shows a memory.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, request: ShowMemoryRequest) -> Result<MemoryReply, OpError> {
    let memory = ctx.toolcrib.memories().get(ctx.store.owner, &request.key).await?;
    Ok(MemoryReply::new(&ctx.store, memory))
}
