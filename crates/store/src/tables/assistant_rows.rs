//! SQLite: rows of the assistant and the changes that can be undone.

use rusqlite::{Connection, OptionalExtension, Row};
use toolcrib_core::store::{ROW_CHANGES_AGE, ROW_CHANGES_KEPT};
use toolcrib_core::{
    AssistantRow, AssistantRowChange, AssistantRowStore, AssistantRowWrite, BoxFuture, RowKind,
    StoreError,
};

use crate::error::Failure;
use crate::json;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const GET: &str = "SELECT key, revision, body FROM assistant_rows
    WHERE owner = ?1 AND kind = ?2 AND key = ?3";
const LIST: &str = "SELECT key, revision, body FROM assistant_rows
    WHERE owner = ?1 AND kind = ?2 ORDER BY key";
const OWNERS: &str = "SELECT DISTINCT owner FROM assistant_rows WHERE kind = ?1 ORDER BY owner";
const RECORD: &str = "INSERT INTO assistant_changes
    (owner, kind, key, before, note, author, at, is_undo)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING number";
const PUT: &str = "INSERT INTO assistant_rows (owner, kind, key, revision, body)
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (owner, kind, key)
    DO UPDATE SET revision = excluded.revision, body = excluded.body";
const REMOVE: &str = "DELETE FROM assistant_rows WHERE owner = ?1 AND kind = ?2 AND key = ?3";
const UNDONE: &str = "UPDATE assistant_changes SET undone = 1 WHERE number = ?1";
const PRUNE: &str = "DELETE FROM assistant_changes WHERE owner = ?1 AND kind = ?2 AND number < ?3
    AND (at < ?4 OR number <= (SELECT number FROM assistant_changes
        WHERE owner = ?1 AND kind = ?2 ORDER BY number DESC LIMIT 1 OFFSET ?5))";
const CHANGES: &str = "SELECT number, key, before, note, author, at, is_undo = 0 AND undone = 0
    FROM assistant_changes WHERE owner = ?1 AND kind = ?2 AND (?3 IS NULL OR key = ?3)
    ORDER BY number DESC LIMIT ?4";

impl AssistantRowStore for SqliteStore {
    fn assistant_row<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<AssistantRow>, StoreError>> {
        let key = (owner.to_owned(), kind.as_str(), key.to_owned());
        self.read(move |conn| {
            let found = conn.prepare_cached(GET)?.query_and_then(key, stored_row)?.next();
            found.transpose()
        })
    }

    fn assistant_rows<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
    ) -> BoxFuture<'a, Result<Vec<AssistantRow>, StoreError>> {
        let key = (owner.to_owned(), kind.as_str());
        self.read(move |conn| conn.prepare_cached(LIST)?.query_and_then(key, stored_row)?.collect())
    }

    fn assistant_row_owners(
        &self,
        kind: RowKind,
    ) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.read(move |conn| {
            let owner = |row: &Row<'_>| -> Result<String, Failure> { Ok(row.get(0)?) };
            conn.prepare_cached(OWNERS)?.query_and_then([kind.as_str()], owner)?.collect()
        })
    }

    fn write_assistant_rows(
        &self,
        writes: Vec<AssistantRowWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::PowerLoss, move |conn| {
            writes.iter().try_for_each(|write| apply(conn, write))
        })
    }

    fn assistant_row_changes<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
        key: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<AssistantRowChange>, StoreError>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let key = (owner.to_owned(), kind.as_str(), key.map(str::to_owned), limit);
        self.read(move |conn| conn.prepare_cached(CHANGES)?.query_and_then(key, change)?.collect())
    }
}

fn apply(conn: &Connection, write: &AssistantRowWrite) -> Result<(), Failure> {
    let AssistantRowWrite { owner, kind, key, expected, body, note, author, at, undoes } = write;
    let kind = kind.as_str();
    let found = conn
        .prepare_cached(GET)?
        .query_row((owner, kind, key), |row| Ok((row.get::<_, i64>(1)?, row.get::<_, String>(2)?)))
        .optional()?;
    if found.as_ref().map(|(revision, _)| *revision) != *expected {
        return Err(StoreError::Conflict(key.clone()).into());
    }
    let before = found.map(|(_, body)| body);
    let author = json::write(author)?;
    let number: i64 = conn
        .prepare_cached(RECORD)?
        .query_row((owner, kind, key, before, note, author, at, undoes.is_some()), |row| {
            row.get(0)
        })?;
    match body {
        Some(body) => {
            conn.prepare_cached(PUT)?.execute((owner, kind, key, number, json::write(body)?))?
        }
        None => conn.prepare_cached(REMOVE)?.execute((owner, kind, key))?,
    };
    if let Some(undone) = undoes {
        conn.prepare_cached(UNDONE)?.execute([undone])?;
    }
    let oldest = at.saturating_sub(ROW_CHANGES_AGE);
    conn.prepare_cached(PRUNE)?.execute((owner, kind, number, oldest, ROW_CHANGES_KEPT))?;
    Ok(())
}

fn stored_row(row: &Row<'_>) -> Result<AssistantRow, Failure> {
    let body = json::read(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?)?;
    Ok(AssistantRow { key: row.get(0)?, revision: row.get(1)?, body })
}

fn change(row: &Row<'_>) -> Result<AssistantRowChange, Failure> {
    let before: Option<String> = row.get(2)?;
    Ok(AssistantRowChange {
        number: row.get(0)?,
        key: row.get(1)?,
        before: before.as_deref().map(json::read).transpose()?,
        note: row.get(3)?,
        author: json::read(&row.get::<_, String>(4)?)?,
        at: row.get(5)?,
        can_be_undone: row.get(6)?,
    })
}
