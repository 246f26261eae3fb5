//! Deletes a conversation with its messages and runs. Its calls stay in the history and in the
//! audit.

use serde::{Deserialize, Serialize};
use toolcrib_app::{Secrets, Toolcrib};
use toolcrib_core::{ConversationId, StoreError};

use crate::administration::{self, Act};
use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// The conversation to delete.
#[derive(Debug, Clone, Copy)]
pub struct RemoveConversationRequest {
    /// Its id.
    pub id: ConversationId,
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
    let id = request.id;
    let removed = match toolcrib {
        Some(toolcrib) => toolcrib.delete_conversation(ctx.owner, id).await,
        None => ctx.stores.runs.delete_conversation(ctx.owner, id).await,
    };
    removed.map_err(|error| match error {
        StoreError::Missing(_) => OpError::not_found(Resource::Conversation, id),
        StoreError::Conflict(run) => OpError::OpenRun { run },
        error => error.into(),
    })?;
    let act = Act::new("conversation.remove", id.to_string());
    match toolcrib {
        Some(toolcrib) => {
            administration::record(ctx, &toolcrib.engine().sealing().secrets, act).await?;
        }
        None => administration::record(ctx, &Secrets::default(), act).await?,
    }
    Ok(RemovedConversation { deleted: id })
}
