//! Lists documents.

use super::row::DocumentReply;
use crate::context::OpContext;
use crate::error::OpError;

/// Filter of documents.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListDocumentsRequest {
    /// Lists deleted documents that can be restored, instead of the present ones.
    pub deleted: bool,
}

/// Returns the owner's documents, the newest first.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &OpContext<'_>,
    request: ListDocumentsRequest,
) -> Result<Vec<DocumentReply>, OpError> {
    let all = ctx.toolcrib.documents().list(ctx.store.owner, request.deleted).await?;
    Ok(all.into_iter().map(Into::into).collect())
}
