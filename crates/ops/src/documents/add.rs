//! Adds a document.

use super::row::DocumentReply;
use crate::context::OpContext;
use crate::error::OpError;
use crate::lists::writer;

/// A file to add.
#[derive(Debug, Clone)]
pub struct AddDocumentRequest {
    /// Its name.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether to wait until the whole file is read; otherwise, reading continues in the
    /// background.
    pub wait: bool,
}

/// Adds a file to the documents. A file that was already added is returned.
///
/// # Errors
/// [`OpError::Invalid`] if it cannot be read, [`OpError::Conflict`], [`OpError::Store`].
pub async fn add(
    ctx: &OpContext<'_>,
    request: AddDocumentRequest,
) -> Result<DocumentReply, OpError> {
    let documents = ctx.toolcrib.documents();
    let AddDocumentRequest { name, bytes, wait } = request;
    let added = documents.add(&writer(&ctx.store), &name, bytes).await?;
    if !wait {
        return Ok(added.into());
    }
    documents.finish().await?;
    let all = documents.list(ctx.store.owner, false).await?;
    Ok(all.into_iter().find(|document| document.id == added.id).unwrap_or(added).into())
}
