//! Lists and restores deleted conversations.

use toolcrib_app::Secrets;
use toolcrib_core::{
    Clock as _, Conversation, ConversationId, DeletedConversation, RESTORABLE_MS, StoreError,
    SystemClock,
};

use super::list::hide_title;
use super::remove::purge;
use super::show::{ShowConversationRequest, show};
use crate::administration::{self, Act};
use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// How many deleted conversations.
#[derive(Debug, Clone, Copy)]
pub struct ListDeletedConversationsRequest {
    /// At most this many.
    pub limit: usize,
}

/// Lists the deleted conversations that can be restored, most recently deleted first.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list_deleted(
    ctx: &StoreContext<'_>,
    request: ListDeletedConversationsRequest,
) -> Result<Vec<DeletedConversation>, OpError> {
    let mut found = ctx.stores.runs.deleted_conversations(ctx.owner, request.limit).await?;
    let oldest = SystemClock.now_ms() - RESTORABLE_MS;
    found.retain(|one| one.deleted_at >= oldest);
    if !ctx.shows_payloads {
        found.iter_mut().for_each(|one| hide_title(&mut one.conversation));
    }
    Ok(found)
}

/// Which conversation.
#[derive(Debug, Clone, Copy)]
pub struct RestoreConversationRequest {
    /// Its id.
    pub id: ConversationId,
}

/// Restores a deleted conversation with its messages and runs. The programs that ended with it stay
/// ended, and the questions that were denied stay denied.
///
/// # Errors
/// [`OpError::NotFound`] also if it is not deleted or its 30 days are over, [`OpError::Store`],
/// [`OpError::Unrecorded`].
pub async fn restore(
    ctx: &StoreContext<'_>,
    request: RestoreConversationRequest,
) -> Result<Conversation, OpError> {
    let id = request.id;
    purge(ctx.stores).await?;
    let restored = ctx.stores.runs.restore_conversation(ctx.owner, id).await;
    restored.map_err(|error| match error {
        StoreError::Missing(_) => OpError::not_found(Resource::Conversation, id),
        error => error.into(),
    })?;
    let act = Act::new("conversation.restore", id.to_string());
    administration::record(ctx, &Secrets::default(), act).await?;
    show(ctx, ShowConversationRequest { id }).await
}
