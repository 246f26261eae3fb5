//! Changes the person's part of the system prompt.

use super::show::SoulReply;
use crate::context::OpContext;
use crate::error::OpError;
use crate::lists::writer;

/// The action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeSoulRequest {
    /// Writes the text.
    Set(String),
    /// Removes it.
    Clear,
    /// Undoes the last change. Changes are stored for 30 days, at most the last 300.
    Undo,
}

/// Changes the text; returns the current one. It applies to runs that start afterwards.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::Gone`] if there is no change to undo, [`OpError::Store`].
pub async fn change(ctx: &OpContext<'_>, request: ChangeSoulRequest) -> Result<SoulReply, OpError> {
    let (souls, writer) = (ctx.toolcrib.souls(), writer(&ctx.store));
    Ok(match request {
        ChangeSoulRequest::Set(text) => Some(souls.set(&writer, &text).await?).into(),
        ChangeSoulRequest::Clear => {
            souls.clear(&writer).await?;
            SoulReply::default()
        }
        ChangeSoulRequest::Undo => souls.undo(&writer).await?.into(),
    })
}
