//! Exports memories to a file, and imports them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_assistant::memory::MemoryExport;

use super::row::author;
use crate::context::OpContext;
use crate::error::OpError;

/// All memories of the owner.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExportMemoriesRequest;

/// A file to import.
#[derive(Debug, Clone)]
pub struct ImportMemoriesRequest {
    /// The content of the file.
    pub file: Value,
    /// Whether to remove memories that the file does not contain.
    pub replace: bool,
}

/// The effect of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedMemories {
    /// New memories.
    pub added: usize,
    /// Memories that were replaced.
    pub replaced: usize,
    /// Memories that existed already with this text.
    pub unchanged: usize,
    /// Memories that were removed.
    pub removed: usize,
}

/// Exports all memories for a file.
///
/// # Errors
/// [`OpError::Denied`] for a caller that may not see texts, [`OpError::Store`].
pub async fn export(
    ctx: &OpContext<'_>,
    _: ExportMemoriesRequest,
) -> Result<MemoryExport, OpError> {
    if !ctx.store.shows_payloads {
        return Err(OpError::Denied("you may not see the texts of memories".to_owned()));
    }
    Ok(ctx.toolcrib.memories().export(ctx.store.owner).await?)
}

/// Adds the memories of a file.
///
/// # Errors
/// [`OpError::Invalid`] if the file cannot be read or a memory of it cannot be stored,
/// [`OpError::Store`].
pub async fn import(
    ctx: &OpContext<'_>,
    request: ImportMemoriesRequest,
) -> Result<ImportedMemories, OpError> {
    let file: MemoryExport = serde_json::from_value(request.file)
        .map_err(|error| OpError::Invalid(format!("this is not a file of memories: {error}")))?;
    let author = author(&ctx.store);
    let memories = ctx.toolcrib.memories();
    let done = memories.import(ctx.store.owner, file, request.replace, &author).await?;
    Ok(ImportedMemories {
        added: done.added,
        replaced: done.replaced,
        unchanged: done.unchanged,
        removed: done.removed,
    })
}
