//! Takes back the last change of a memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::{MemoryReply, author};
use crate::context::OpContext;
use crate::error::OpError;

/// Whose change.
#[derive(Debug, Clone, Default)]
pub struct UndoMemoryRequest {
    /// The memory; `None` = the one that was changed last.
    pub key: Option<String>,
}

/// A change was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoneMemory {
    /// Key of the memory.
    pub key: String,
    /// The memory as it is now; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryReply>,
}

/// Takes back the last change that was not taken back. Changes are kept for 30 days, the last
/// thousand at most.
///
/// # Errors
/// [`OpError::Gone`] if there is none, [`OpError::Store`].
pub async fn undo(
    ctx: &OpContext<'_>,
    request: UndoMemoryRequest,
) -> Result<UndoneMemory, OpError> {
    let memories = ctx.toolcrib.memories();
    let author = author(&ctx.store);
    let (key, now) = memories.undo(ctx.store.owner, request.key.as_deref(), &author).await?;
    Ok(UndoneMemory { key, memory: now.map(|memory| MemoryReply::new(&ctx.store, memory)) })
}
