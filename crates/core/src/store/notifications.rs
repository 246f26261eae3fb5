//! Notification store.

use super::StoreError;
use crate::BoxFuture;
use crate::id::NotificationId;
use crate::notification::Notification;

/// Stores the latest [`NOTIFICATIONS_KEPT`](crate::notification::NOTIFICATIONS_KEPT) notifications
/// of each owner.
pub trait NotificationStore: Send + Sync {
    /// Adds a notification. Removes those with the same owner and tag, and the oldest beyond the
    /// limit. An existing id is a [`StoreError::Conflict`].
    fn add_notification(&self, notification: Notification)
    -> BoxFuture<'_, Result<(), StoreError>>;

    /// Replaces the notification with this id; one that was removed is [`StoreError::Missing`].
    fn put_notification(&self, notification: Notification)
    -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns one notification.
    fn notification(
        &self,
        id: NotificationId,
    ) -> BoxFuture<'_, Result<Option<Notification>, StoreError>>;

    /// Returns the notifications of an owner, newest first.
    fn notifications<'a>(
        &'a self,
        owner: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Notification>, StoreError>>;

    /// Returns notifications of every owner created at or after `since`, oldest first, at most
    /// `limit`.
    fn notifications_since(
        &self,
        since: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Notification>, StoreError>>;
}
