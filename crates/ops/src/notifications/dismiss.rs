//! Dismisses a notification.

use toolcrib_app::core::NotificationId;

use super::row::NotificationReply;
use crate::context::OpContext;
use crate::error::OpError;

/// Which notification.
#[derive(Debug, Clone, Copy)]
pub struct DismissNotificationRequest {
    /// Its id.
    pub id: NotificationId,
}

/// Marks a notification as dismissed.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn dismiss(
    ctx: &OpContext<'_>,
    request: DismissNotificationRequest,
) -> Result<NotificationReply, OpError> {
    let row = ctx.toolcrib.notifier().dismiss(ctx.store.owner, request.id).await?;
    Ok(NotificationReply::new(&ctx.store, row))
}
