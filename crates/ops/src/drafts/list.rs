//! Lists drafts, and shows one.

use super::row::DraftReply;
use crate::context::OpContext;
use crate::error::OpError;

/// Filter of drafts.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListDraftsRequest {
    /// Only drafts that need an action of a person.
    pub open: bool,
}

/// The draft to show.
#[derive(Debug, Clone)]
pub struct ShowDraftRequest {
    /// Its id.
    pub draft: String,
    /// A version that the caller saw: the reply contains the changes since.
    pub since: Option<i64>,
}

/// Returns the owner's drafts, the newest first.
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

/// Returns one draft.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Invalid`] for a version that is no longer stored,
/// [`OpError::Store`].
pub async fn show(ctx: &OpContext<'_>, request: ShowDraftRequest) -> Result<DraftReply, OpError> {
    let ShowDraftRequest { draft, since } = request;
    let (drafts, owner) = (ctx.toolcrib.drafts(), ctx.store.owner);
    // Read the draft first, so that the history also contains the end of an attempt whose process
    // has died.
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
