//! Renames a conversation.

use toolcrib_core::{Conversation, ConversationId};

use super::show::{ShowConversationRequest, show};
use crate::context::StoreContext;
use crate::error::OpError;

/// Maximum number of characters of a title: one line of a list.
const MAX_TITLE_CHARS: usize = 200;

/// The conversation to rename, and its new title.
#[derive(Debug, Clone)]
pub struct RenameConversationRequest {
    /// Its id.
    pub id: ConversationId,
    /// One line of at most 200 characters; not blank.
    pub title: String,
}

/// Renames a conversation.
///
/// # Errors
/// [`OpError::Invalid`], [`OpError::NotFound`], [`OpError::Store`].
pub async fn rename(
    ctx: &StoreContext<'_>,
    request: RenameConversationRequest,
) -> Result<Conversation, OpError> {
    let title = request.title.trim();
    if title.is_empty()
        || title.chars().count() > MAX_TITLE_CHARS
        || title.chars().any(char::is_control)
    {
        let words = format!("a title is one line of 1 to {MAX_TITLE_CHARS} characters");
        return Err(OpError::Invalid(words));
    }
    let mut conversation = show(ctx, ShowConversationRequest { id: request.id }).await?;
    title.clone_into(&mut conversation.title);
    ctx.stores.runs.change_conversation(conversation.clone()).await?;
    Ok(conversation)
}
