//! SQLite: notifications.

use rusqlite::Row;
use toolcrib_core::notification::NOTIFICATIONS_KEPT;
use toolcrib_core::{BoxFuture, Notification, NotificationId, NotificationStore, StoreError};

use super::at_most;
use crate::error::Failure;
use crate::json;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const ADD: &str = "INSERT INTO notifications (id, owner, tag, created_at, body)
    VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING";
const REPLACE: &str = "DELETE FROM notifications WHERE owner = ?1 AND tag = ?2 AND id <> ?3";
const TRIM: &str = "DELETE FROM notifications WHERE owner = ?1 AND id NOT IN
    (SELECT id FROM notifications WHERE owner = ?1 ORDER BY id DESC LIMIT ?2)";
const PUT: &str = "UPDATE notifications SET body = ?2 WHERE id = ?1";
const GET: &str = "SELECT body FROM notifications WHERE id = ?1";
const LIST: &str = "SELECT body FROM notifications WHERE owner = ?1 ORDER BY id DESC";
const SINCE: &str = "SELECT body FROM notifications WHERE created_at >= ?1
    ORDER BY created_at LIMIT ?2";

impl NotificationStore for SqliteStore {
    fn add_notification(
        &self,
        notification: Notification,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::ProcessCrash, move |conn| {
            let (id, owner) = (notification.id.to_string(), &notification.owner);
            let (tag, body) = (&notification.tag, json::write(&notification)?);
            let row = (&id, owner, tag, notification.created_at, body);
            if conn.prepare_cached(ADD)?.execute(row)? == 0 {
                return Err(StoreError::Conflict(id).into());
            }
            if let Some(tag) = tag {
                conn.prepare_cached(REPLACE)?.execute((owner, tag, &id))?;
            }
            conn.prepare_cached(TRIM)?.execute((owner, at_most(NOTIFICATIONS_KEPT)))?;
            Ok(())
        })
    }

    fn put_notification(
        &self,
        notification: Notification,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::ProcessCrash, move |conn| {
            let (id, body) = (notification.id.to_string(), json::write(&notification)?);
            match conn.prepare_cached(PUT)?.execute((&id, body))? {
                0 => Err(StoreError::Missing(id).into()),
                _ => Ok(()),
            }
        })
    }

    fn notification(
        &self,
        id: NotificationId,
    ) -> BoxFuture<'_, Result<Option<Notification>, StoreError>> {
        self.read(move |conn| {
            let found = conn.prepare_cached(GET)?.query_and_then([id.to_string()], read)?.next();
            found.transpose()
        })
    }

    fn notifications<'a>(
        &'a self,
        owner: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Notification>, StoreError>> {
        let key = [owner.to_owned()];
        self.read(move |conn| conn.prepare_cached(LIST)?.query_and_then(key, read)?.collect())
    }

    fn notifications_since(
        &self,
        since: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Notification>, StoreError>> {
        self.read(move |conn| {
            conn.prepare_cached(SINCE)?.query_and_then((since, at_most(limit)), read)?.collect()
        })
    }
}

fn read(row: &Row<'_>) -> Result<Notification, Failure> {
    json::read(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)
}
