//! The messages of a conversation, with secrets masked.

use serde::{Deserialize, Serialize};
use toolcrib_core::{Conversation, ConversationId, StoredMessage};

use super::show::{ShowConversationRequest, show};
use crate::context::OpContext;
use crate::error::OpError;

/// The messages to read.
#[derive(Debug, Clone, Copy)]
pub struct MessagesRequest {
    /// The conversation.
    pub id: ConversationId,
    /// Sequence number of the first message.
    pub since: u64,
    /// Maximum number of messages; `None` reads all.
    pub limit: Option<usize>,
}

/// Messages, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessagesReply {
    /// The conversation.
    pub conversation: Conversation,
    /// The messages; empty if the caller sees no payloads.
    pub messages: Vec<StoredMessage>,
    /// Sequence number of the next message; `None` if there are no more.
    pub next: Option<u64>,
}

/// Lists the messages of a conversation.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn messages(
    ctx: &OpContext<'_>,
    request: MessagesRequest,
) -> Result<MessagesReply, OpError> {
    let conversation = show(&ctx.store, ShowConversationRequest { id: request.id }).await?;
    if !ctx.store.shows_payloads {
        return Ok(MessagesReply { conversation, messages: Vec::new(), next: None });
    }
    let (store, since) = (&ctx.store.stores.runs, request.since);
    let mut messages = match request.limit {
        None => store.messages(request.id, since).await?,
        Some(limit) => store.messages_page(request.id, since, limit + 1).await?,
    };
    let limit = request.limit.unwrap_or(usize::MAX);
    let next = messages.get(limit).map(|first| first.seq);
    messages.truncate(limit);
    // Stored messages are unsealed for the run that continues them, and masked for readers.
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    for message in &mut messages {
        message.body = secrets.mask_json(&message.body);
    }
    Ok(MessagesReply { conversation, messages, next })
}
