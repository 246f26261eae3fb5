//! Deletes or restores a document.

use super::row::DocumentReply;
use crate::context::OpContext;
use crate::error::OpError;
use crate::lists::writer;

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentChange {
    /// The document is no longer found; it can be restored for 30 days.
    Delete,
    /// The document can be found again.
    Restore,
}

/// The document to change.
#[derive(Debug, Clone)]
pub struct ChangeDocumentRequest {
    /// Its id or name.
    pub document: String,
    /// The action.
    pub change: DocumentChange,
}

/// Deletes or restores a document.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Conflict`], [`OpError::Invalid`] if several documents have the
/// name, [`OpError::Store`].
pub async fn change(
    ctx: &OpContext<'_>,
    request: ChangeDocumentRequest,
) -> Result<DocumentReply, OpError> {
    let (documents, writer) = (ctx.toolcrib.documents(), writer(&ctx.store));
    let changed = match request.change {
        DocumentChange::Delete => documents.delete_now(&writer, &request.document).await?,
        DocumentChange::Restore => documents.restore(&writer, &request.document).await?,
    };
    Ok(changed.into())
}
