//! Postgres: notifications.

use tokio_postgres::Row;
use toolcrib_core::notification::NOTIFICATIONS_KEPT;
use toolcrib_core::{BoxFuture, Notification, NotificationId, NotificationStore, StoreError};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::{at_most, read, write};
use crate::writer::Durability;

const ADD: &str = "INSERT INTO notifications (id, owner, tag, created_at, body)
    VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING";
const REPLACE: &str = "DELETE FROM notifications WHERE owner = $1 AND tag = $2 AND id <> $3";
const TRIM: &str = "DELETE FROM notifications WHERE owner = $1 AND id NOT IN
    (SELECT id FROM notifications WHERE owner = $1 ORDER BY id DESC LIMIT $2)";
const PUT: &str = "UPDATE notifications SET body = $2 WHERE id = $1";
const GET: &str = "SELECT body FROM notifications WHERE id = $1";
const LIST: &str = "SELECT body FROM notifications WHERE owner = $1 ORDER BY id DESC";
const SINCE: &str = "SELECT body FROM notifications WHERE created_at >= $1
    ORDER BY created_at LIMIT $2";

impl NotificationStore for PostgresStore {
    fn add_notification(
        &self,
        notification: Notification,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Add(notification))
    }

    fn put_notification(
        &self,
        notification: Notification,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Put(notification))
    }

    fn notification(
        &self,
        id: NotificationId,
    ) -> BoxFuture<'_, Result<Option<Notification>, StoreError>> {
        Box::pin(async move { self.fetch_optional(GET, &[&id.to_string()], read_row).await })
    }

    fn notifications<'a>(
        &'a self,
        owner: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Notification>, StoreError>> {
        Box::pin(async move { self.fetch_all(LIST, &[&escape(owner)], read_row).await })
    }

    fn notifications_since(
        &self,
        since: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Notification>, StoreError>> {
        Box::pin(async move { self.fetch_all(SINCE, &[&since, &at_most(limit)], read_row).await })
    }
}

struct Add(Notification);

impl Job for Add {
    type Answer = ();

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let (id, body) = (self.0.id.to_string(), write(&self.0)?);
            let (owner, tag) = (escape(&self.0.owner), self.0.tag.as_deref().map(escape));
            let added =
                tx.link.execute(ADD, &[&id, &owner, &tag, &self.0.created_at, &body]).await?;
            if added == 0 {
                return Err(StoreError::Conflict(id).into());
            }
            if tag.is_some() {
                tx.link.execute(REPLACE, &[&owner, &tag, &id]).await?;
            }
            tx.link.execute(TRIM, &[&owner, &at_most(NOTIFICATIONS_KEPT)]).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}

struct Put(Notification);

impl Job for Put {
    type Answer = ();

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(PUT)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let (id, body) = (self.0.id.to_string(), write(&self.0)?);
            match tx.link.execute(PUT, &[&id, &body]).await? {
                0 => Err(StoreError::Missing(id).into()),
                _ => Ok(JobOutput::unaudited(())),
            }
        })
    }
}

fn read_row(row: &Row) -> Result<Notification, Failure> {
    read(row, 0)
}
