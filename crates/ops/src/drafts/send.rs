//! Sends a draft: what only a person does, or a rule of the person.

use toolcrib_assistant::draft::SendRequest;

use super::row::DraftReply;
use crate::administration::{Act, record};
use crate::context::OpContext;
use crate::error::OpError;
use crate::lists::writer;

/// A draft to send.
#[derive(Debug, Clone)]
pub struct SendDraftRequest {
    /// Its id.
    pub draft: String,
    /// The version that the person read: a draft that was changed since does not leave.
    pub version: i64,
    /// Send one that is `unknown` once more, although it may have left.
    pub again: bool,
}

/// Sends a draft, and waits until the server has taken or refused it.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Stale`] for another version, [`OpError::Conflict`] if its
/// state does not allow that, [`OpError::Store`], [`OpError::Unrecorded`]. A delivery that fails
/// is no error: the status of the draft says it.
pub async fn send(ctx: &OpContext<'_>, request: SendDraftRequest) -> Result<DraftReply, OpError> {
    let SendDraftRequest { draft, version, again } = request;
    let by = ctx.store.actor.to_owned();
    let request = SendRequest { id: draft, version: Some(version), again, by };
    let sent = ctx.toolcrib.drafts().send(&writer(&ctx.store), request).await?;
    settle_notification(ctx, &sent.id).await?;
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    let about = format!("{} to {}: {}", sent.id, sent.to.join(", "), sent.status.as_str());
    record(&ctx.store, secrets, Act::new("draft.send", about)).await?;
    Ok(DraftReply::new(&ctx.store, sent))
}

/// Dismisses the notification that the draft waits: the person has decided.
pub(super) async fn settle_notification(ctx: &OpContext<'_>, draft: &str) -> Result<(), OpError> {
    Ok(ctx.toolcrib.notifier().dismiss_tag(ctx.store.owner, draft).await?)
}
