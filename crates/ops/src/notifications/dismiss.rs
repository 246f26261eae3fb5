//! Dismisses notifications.

use toolcrib_assistant::task::TaskError;
use toolcrib_core::NotificationId;

use super::row::NotificationReply;
use crate::context::OpContext;
use crate::error::{OpError, Resource};
use crate::id_prefix;

/// Which notifications.
#[derive(Debug, Clone)]
pub enum DismissNotificationRequest {
    /// The notification of this id, or of an id that begins like this.
    One(String),
    /// All that were not dismissed.
    All,
}

/// Marks notifications as dismissed. If one is that of an alarm, the alarm stops ringing.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Ambiguous`], [`OpError::Store`].
pub async fn dismiss(
    ctx: &OpContext<'_>,
    request: DismissNotificationRequest,
) -> Result<Vec<NotificationReply>, OpError> {
    let rows = ctx.toolcrib.notifier().list(ctx.store.owner).await?;
    let open = || rows.iter().filter(|row| row.dismissed_at.is_none()).map(|row| row.id);
    let ids = match request {
        DismissNotificationRequest::One(text) => vec![match text.parse() {
            Ok(id) => id,
            Err(_) => {
                id_prefix::resolve(Resource::Notification, &text, &open().collect::<Vec<_>>())?
            }
        }],
        DismissNotificationRequest::All => open().collect(),
    };
    let mut dismissed = Vec::new();
    for id in ids {
        dismissed.push(dismiss_one(ctx, id).await?);
    }
    Ok(dismissed)
}

async fn dismiss_one(
    ctx: &OpContext<'_>,
    id: NotificationId,
) -> Result<NotificationReply, OpError> {
    let row = ctx.toolcrib.notifier().dismiss(ctx.store.owner, id).await?;
    if let Some(alarm) = row.tag.as_deref().and_then(|tag| tag.parse().ok()) {
        match ctx.toolcrib.tasks().dismiss(ctx.store.owner, alarm).await {
            // The alarm stopped ringing.
            Ok(_) | Err(TaskError::State(_) | TaskError::Unknown(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(NotificationReply::new(&ctx.store, row))
}
