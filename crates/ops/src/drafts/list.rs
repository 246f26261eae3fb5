//! Lists drafts, and shows one.

use super::row::DraftReply;
use crate::context::OpContext;
use crate::error::OpError;

/// Which drafts.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListDraftsRequest {
    /// Only those that a person has to do something about.
    pub open: bool,
}

/// Which draft.
#[derive(Debug, Clone)]
pub struct ShowDraftRequest {
    /// Its id.
    pub draft: String,
}

/// The owner's drafts, the newest first.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &OpContext<'_>,
    request: ListDraftsRequest,
) -> Result<Vec<DraftReply>, OpError> {
    let all = ctx.toolcrib.drafts().list(ctx.store.owner).await?;
    let wanted = all.into_iter().filter(|draft| !request.open || draft.status.is_open());
    Ok(wanted.map(|draft| DraftReply::new(&ctx.store, draft)).collect())
}

/// One draft.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, request: ShowDraftRequest) -> Result<DraftReply, OpError> {
    let draft = ctx.toolcrib.drafts().get(ctx.store.owner, &request.draft).await?;
    Ok(DraftReply::new(&ctx.store, draft))
}
