//! Lists notifications.

use super::row::NotificationReply;
use crate::context::OpContext;
use crate::error::OpError;

/// Filter of notifications.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListNotificationsRequest {
    /// Only notifications that were not dismissed.
    pub only_open: bool,
}

/// Lists the owner's notifications, newest first.
///
/// # Errors
/// [`OpError::Store`].
pub async fn list(
    ctx: &OpContext<'_>,
    request: ListNotificationsRequest,
) -> Result<Vec<NotificationReply>, OpError> {
    let all = ctx.toolcrib.notifier().list(ctx.store.owner).await?;
    let listed = all.into_iter().filter(|row| !request.only_open || row.dismissed_at.is_none());
    Ok(listed.map(|row| NotificationReply::new(&ctx.store, row)).collect())
}
