//! Dismisses a notification.

use toolcrib_assistant::task::TaskError;
use toolcrib_core::NotificationId;

use super::row::NotificationReply;
use crate::context::OpContext;
use crate::error::OpError;

/// The notification to dismiss.
#[derive(Debug, Clone, Copy)]
pub struct DismissNotificationRequest {
    /// Its id.
    pub id: NotificationId,
}

/// Marks a notification as dismissed. If it belongs to an alarm, the alarm stops ringing.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn dismiss(
    ctx: &OpContext<'_>,
    request: DismissNotificationRequest,
) -> Result<NotificationReply, OpError> {
    let row = ctx.toolcrib.notifier().dismiss(ctx.store.owner, request.id).await?;
    if let Some(alarm) = row.tag.as_deref().and_then(|tag| tag.parse().ok()) {
        match ctx.toolcrib.tasks().dismiss(ctx.store.owner, alarm).await {
            // The alarm stopped ringing.
            Ok(_) | Err(TaskError::State(_) | TaskError::Unknown(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(NotificationReply::new(&ctx.store, row))
}
