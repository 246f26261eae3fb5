//! Deletes a conversation with its messages and runs. Its calls stay in the history and in the
//! audit.

use serde::{Deserialize, Serialize};
use toolcrib_app::{Secrets, Stores, Toolcrib};
use toolcrib_core::{Clock as _, ConversationId, RESTORABLE_MS, StoreError, SystemClock};

use crate::administration::{self, Act};
use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// The conversation to delete.
#[derive(Debug, Clone, Copy)]
pub struct RemoveConversationRequest {
    /// Its id.
    pub id: ConversationId,
    /// Whether it is deleted for good, also if it is deleted already. Otherwise it can be restored
    /// for 30 days.
    pub forever: bool,
}

/// The deleted conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedConversation {
    /// Its id.
    pub deleted: ConversationId,
}

/// Deletes a conversation. With the Toolcrib that runs its shells and background programs, these
/// end too, and its pending questions are denied.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::OpenRun`], [`OpError::Store`], [`OpError::Unrecorded`].
pub async fn remove(
    ctx: &StoreContext<'_>,
    toolcrib: Option<&Toolcrib>,
    request: RemoveConversationRequest,
) -> Result<RemovedConversation, OpError> {
    let RemoveConversationRequest { id, forever } = request;
    purge(ctx.stores).await?;
    let store = &ctx.stores.runs;
    let removed = match (toolcrib, forever) {
        (Some(toolcrib), true) => toolcrib.delete_conversation(ctx.owner, id).await,
        (Some(toolcrib), false) => toolcrib.trash_conversation(ctx.owner, id).await,
        (None, true) => store.delete_conversation(ctx.owner, id).await,
        (None, false) => store.trash_conversation(ctx.owner, id, SystemClock.now_ms()).await,
    };
    removed.map_err(|error| match error {
        StoreError::Missing(_) => OpError::not_found(Resource::Conversation, id),
        StoreError::Conflict(run) => OpError::OpenRun { run },
        error => error.into(),
    })?;
    let name = if forever { "conversation.remove_forever" } else { "conversation.remove" };
    let act = Act::new(name, id.to_string());
    match toolcrib {
        Some(toolcrib) => {
            administration::record(ctx, &toolcrib.engine().sealing().secrets, act).await?;
        }
        None => administration::record(ctx, &Secrets::default(), act).await?,
    }
    Ok(RemovedConversation { deleted: id })
}

/// Removes the deleted conversations of all owners for good whose 30 days are over.
///
/// # Errors
/// [`StoreError`].
pub async fn purge(stores: &Stores) -> Result<(), StoreError> {
    stores.runs.purge_conversations(SystemClock.now_ms() - RESTORABLE_MS).await
}
