//! Shows one conversation without its messages.

use toolcrib_core::{Conversation, ConversationId};

use super::list::hide_title;
use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// The conversation to show.
#[derive(Debug, Clone, Copy)]
pub struct ShowConversationRequest {
    /// Its id.
    pub id: ConversationId,
}

/// Shows a conversation.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn show(
    ctx: &StoreContext<'_>,
    request: ShowConversationRequest,
) -> Result<Conversation, OpError> {
    let found = ctx.stores.runs.conversation(request.id).await?;
    let own = found.filter(|found| found.owner == ctx.owner);
    let mut own = own.ok_or_else(|| OpError::not_found(Resource::Conversation, request.id))?;
    if !ctx.shows_payloads {
        hide_title(&mut own);
    }
    Ok(own)
}
