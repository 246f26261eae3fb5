//! Changes the text.

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
    /// Takes back the last change. Changes are kept for 30 days, the last 300 at most.
    Undo,
}

/// Changes the text; returns it as it is now. It is in the prompt of runs that begin from now on.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::Gone`] if there is nothing to take back, [`OpError::Store`].
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
