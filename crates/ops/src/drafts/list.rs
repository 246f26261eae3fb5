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
    /// A version that the caller saw: the reply says what changed since.
    pub since: Option<i64>,
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
/// [`OpError::NotFound`], [`OpError::Invalid`] for a version that is not kept, [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, request: ShowDraftRequest) -> Result<DraftReply, OpError> {
    let ShowDraftRequest { draft, since } = request;
    let (drafts, owner) = (ctx.toolcrib.drafts(), ctx.store.owner);
    // First, so that an attempt whose process is gone has its end in the history, too.
    let found = drafts.get(owner, &draft).await?;
    let changed = match since {
        Some(since) => Some(drafts.changed_since(owner, &draft, since).await?),
        None => None,
    };
    let changed = changed.filter(|_| ctx.store.shows_payloads);
    Ok(DraftReply {
        changed: changed.map(|parts| parts.into_iter().map(Into::into).collect()),
        ..DraftReply::new(&ctx.store, found)
    })
}
