//! Changes and discards drafts.

use toolcrib_assistant::draft::DraftChange;

use super::row::DraftReply;
use super::send::settle_notification;
use crate::administration::{Act, record};
use crate::context::OpContext;
use crate::error::OpError;
use crate::lists::writer;

/// Changes of a draft.
#[derive(Debug, Clone, Default)]
pub struct EditDraftRequest {
    /// Its id.
    pub draft: String,
    /// The version that the caller read; `None` accepts any.
    pub version: Option<i64>,
    /// New recipients; `None` keeps them.
    pub to: Option<Vec<String>>,
    /// New subject; `None` keeps it.
    pub subject: Option<String>,
    /// New text; `None` keeps it.
    pub body: Option<String>,
}

/// The draft to discard.
#[derive(Debug, Clone)]
pub struct DiscardDraftRequest {
    /// Its id.
    pub draft: String,
}

/// Changes a draft that has not been sent.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Stale`] for another version, [`OpError::Conflict`] if it has
/// ended, [`OpError::Invalid`], [`OpError::Store`].
pub async fn edit(ctx: &OpContext<'_>, request: EditDraftRequest) -> Result<DraftReply, OpError> {
    let EditDraftRequest { draft, version, to, subject, body } = request;
    let change = DraftChange { to, subject, body, ..DraftChange::default() };
    let drafts = ctx.toolcrib.drafts();
    let edited = drafts.edit(&writer(&ctx.store), &draft, version, &change).await?;
    Ok(DraftReply::new(&ctx.store, edited))
}

/// Discards a draft, which can then no longer be sent.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Conflict`] if it has ended or is being sent,
/// [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn discard(
    ctx: &OpContext<'_>,
    request: DiscardDraftRequest,
) -> Result<DraftReply, OpError> {
    let discarded = ctx.toolcrib.drafts().discard(&writer(&ctx.store), &request.draft).await?;
    settle_notification(ctx, &discarded.id).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    record(&ctx.store, secrets, Act::new("draft.discard", discarded.id.as_str())).await?;
    Ok(DraftReply::new(&ctx.store, discarded))
}
