//! Undoes the last change of a memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::custom_instructions::{PromotionError, undo_memory};

use super::row::MemoryReply;
use crate::context::OpContext;
use crate::error::OpError;
use crate::lists::writer;

/// The memory whose last change is undone.
#[derive(Debug, Clone, Default)]
pub struct UndoMemoryRequest {
    /// The memory; `None` selects the one that was changed last.
    pub key: Option<String>,
}

/// The undone change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoneMemory {
    /// Key of the memory.
    pub key: String,
    /// The memory in its current state; absent if it does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryReply>,
    /// Whether it had been promoted, and its instruction was removed from the system prompt again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub instruction_removed: bool,
}

/// Undoes the last change that was not undone yet; a promotion together with its instruction,
/// unless the person's part of the system prompt was changed since. Changes are stored for 30 days,
/// at most the last thousand.
///
/// # Errors
/// [`OpError::Gone`] if there is no such change, [`OpError::Store`].
pub async fn undo(
    ctx: &OpContext<'_>,
    request: UndoMemoryRequest,
) -> Result<UndoneMemory, OpError> {
    let stores = (ctx.toolcrib.memories(), ctx.toolcrib.custom_instructions());
    let undone = undo_memory(stores, &writer(&ctx.store), request.key.as_deref()).await?;
    Ok(UndoneMemory {
        key: undone.key,
        memory: undone.memory.map(|memory| MemoryReply::new(&ctx.store, memory)),
        instruction_removed: undone.instruction,
    })
}

impl From<PromotionError> for OpError {
    fn from(error: PromotionError) -> Self {
        match error {
            PromotionError::Memory(error) => error.into(),
            PromotionError::Instructions(error) => error.into(),
            error @ PromotionError::Outside(_) => Self::Invalid(error.to_string()),
        }
    }
}
