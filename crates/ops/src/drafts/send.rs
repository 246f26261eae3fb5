//! Sends a draft. Only a person, or a rule of the person, may do that.

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
    /// The version that the person read: a draft that was changed since is not sent.
    pub version: i64,
    /// Sends a draft again whose state is `unknown`, although it may have been sent.
    pub again: bool,
}

/// Sends a draft, and waits until the server has accepted or refused it.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Stale`] for another version, [`OpError::Conflict`] if its
/// state does not allow that, [`OpError::Store`], [`OpError::Unrecorded`]. A failed delivery is not
/// an error: the status of the draft reports it.
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

/// Dismisses the notification of the waiting draft, because the person has decided.
pub(super) async fn settle_notification(ctx: &OpContext<'_>, draft: &str) -> Result<(), OpError> {
    Ok(ctx.toolcrib.notifier().dismiss_tag(ctx.store.owner, draft).await?)
}
