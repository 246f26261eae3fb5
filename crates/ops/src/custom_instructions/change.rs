//! Changes the text.

use super::show::InstructionsReply;
use crate::context::OpContext;
use crate::error::OpError;
use crate::lists::writer;

/// The action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeInstructionsRequest {
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
pub async fn change(
    ctx: &OpContext<'_>,
    request: ChangeInstructionsRequest,
) -> Result<InstructionsReply, OpError> {
    let (custom_instructions, writer) = (ctx.toolcrib.custom_instructions(), writer(&ctx.store));
    Ok(match request {
        ChangeInstructionsRequest::Set(text) => {
            Some(custom_instructions.set(&writer, &text).await?).into()
        }
        ChangeInstructionsRequest::Clear => {
            custom_instructions.clear(&writer).await?;
            InstructionsReply::default()
        }
        ChangeInstructionsRequest::Undo => custom_instructions.undo(&writer).await?.into(),
    })
}
