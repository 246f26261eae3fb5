//! Notifications, in memory.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::notification::NOTIFICATIONS_KEPT;
use toolcrib_core::{BoxFuture, Notification, NotificationId, NotificationStore, StoreError};

/// A [`NotificationStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemoryNotifications {
    rows: Mutex<BTreeMap<NotificationId, Notification>>,
}

impl MemoryNotifications {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<NotificationId, Notification>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NotificationStore for MemoryNotifications {
    fn add_notification(
        &self,
        notification: Notification,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let (id, owner) = (notification.id, notification.owner.clone());
        let mut rows = self.lock();
        if rows.contains_key(&id) {
            return Box::pin(ready(Err(StoreError::Conflict(id.to_string()))));
        }
        if notification.tag.is_some() {
            rows.retain(|_, row| row.owner != owner || row.tag != notification.tag);
        }
        rows.insert(id, notification);
        let of_owner = rows.values().rev().filter(|row| row.owner == owner);
        let old: Vec<NotificationId> =
            of_owner.skip(NOTIFICATIONS_KEPT).map(|row| row.id).collect();
        for id in old {
            rows.remove(&id);
        }
        Box::pin(ready(Ok(())))
    }

    fn put_notification(
        &self,
        notification: Notification,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let put = match self.lock().entry(notification.id) {
            Entry::Occupied(mut there) => {
                there.insert(notification);
                Ok(())
            }
            Entry::Vacant(_) => Err(StoreError::Missing(notification.id.to_string())),
        };
        Box::pin(ready(put))
    }

    fn notification(
        &self,
        id: NotificationId,
    ) -> BoxFuture<'_, Result<Option<Notification>, StoreError>> {
        Box::pin(ready(Ok(self.lock().get(&id).cloned())))
    }

    fn notifications<'a>(
        &'a self,
        owner: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Notification>, StoreError>> {
        let rows = self.lock();
        let found = rows.values().rev().filter(|row| row.owner == owner).cloned().collect();
        Box::pin(ready(Ok(found)))
    }

    fn notifications_since(
        &self,
        since: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Notification>, StoreError>> {
        let rows = self.lock();
        let mut found: Vec<Notification> =
            rows.values().filter(|row| row.created_at >= since).cloned().collect();
        found.sort_by_key(|row| row.created_at);
        found.truncate(limit);
        Box::pin(ready(Ok(found)))
    }
}
