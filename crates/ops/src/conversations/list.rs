//! Lists conversations.

use serde::{Deserialize, Serialize};
use toolcrib_core::{Conversation, ConversationId};

use crate::context::StoreContext;
use crate::error::OpError;

/// Filter of conversations.
#[derive(Debug, Clone, Copy)]
pub struct ListConversationsRequest {
    /// Only conversations before the one with this time of its newest message and this id, for the
    /// next page.
    pub before: Option<(i64, ConversationId)>,
    /// Maximum number of conversations.
    pub limit: usize,
}

/// Conversations, newest message first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConversationsReply {
    /// The conversations.
    pub conversations: Vec<Conversation>,
    /// Whether there are older ones.
    pub more: bool,
}

/// Lists conversations.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &StoreContext<'_>,
    request: ListConversationsRequest,
) -> Result<ConversationsReply, OpError> {
    let (store, owner) = (&ctx.stores.runs, ctx.owner);
    // Read one row more than the page, to detect a next page.
    let rows = request.limit + 1;
    let mut conversations = match request.before {
        None => store.conversations(owner, rows).await?,
        Some(before) => store.conversations_before(owner, before, rows).await?,
    };
    let more = conversations.len() > request.limit;
    conversations.truncate(request.limit);
    if !ctx.shows_payloads {
        conversations.iter_mut().for_each(hide_title);
    }
    Ok(ConversationsReply { conversations, more })
}

/// Removes the title, which is the start of the first message.
pub(super) fn hide_title(conversation: &mut Conversation) {
    conversation.title = String::new();
}
