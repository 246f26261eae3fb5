//! SQLite: memories and the changes that can be undone.

use rusqlite::{Connection, OptionalExtension, Row};
use toolcrib_core::store::{MEMORY_CHANGES_AGE, MEMORY_CHANGES_KEPT};
use toolcrib_core::{BoxFuture, Memory, MemoryChange, MemoryStore, MemoryWrite, StoreError};

use crate::error::Failure;
use crate::json;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const GET: &str = "SELECT body, revision FROM memories WHERE owner = ?1 AND key = ?2";
const LIST: &str = "SELECT body, revision FROM memories WHERE owner = ?1 ORDER BY key";
const UNDER: &str = "SELECT body, revision FROM memories WHERE key = ?1 ORDER BY owner";
const VERSION: &str = "SELECT coalesce(max(number), 0) FROM memory_changes WHERE owner = ?1";
const RECORD: &str = "INSERT INTO memory_changes (owner, key, before, author, at, is_undo)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING number";
const PUT: &str = "INSERT INTO memories (owner, key, revision, body) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (owner, key) DO UPDATE SET revision = excluded.revision, body = excluded.body";
const REMOVE: &str = "DELETE FROM memories WHERE owner = ?1 AND key = ?2";
const UNDONE: &str = "UPDATE memory_changes SET undone = 1 WHERE number = ?1";
const PRUNE: &str = "DELETE FROM memory_changes WHERE owner = ?1 AND number < ?2
    AND (at < ?3 OR number <= (SELECT number FROM memory_changes WHERE owner = ?1
        ORDER BY number DESC LIMIT 1 OFFSET ?4))";
const LAST: &str = "SELECT number, key, before, author, at FROM memory_changes
    WHERE owner = ?1 AND (?2 IS NULL OR key = ?2) AND is_undo = 0 AND undone = 0
    ORDER BY number DESC LIMIT 1";

impl MemoryStore for SqliteStore {
    fn memory<'a>(
        &'a self,
        owner: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Memory>, StoreError>> {
        let key = (owner.to_owned(), key.to_owned());
        self.read(move |conn| {
            let found = conn.prepare_cached(GET)?.query_and_then(key, memory)?.next();
            found.transpose()
        })
    }

    fn memories<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Memory>, StoreError>> {
        let key = [owner.to_owned()];
        self.read(move |conn| conn.prepare_cached(LIST)?.query_and_then(key, memory)?.collect())
    }

    fn memories_under<'a>(
        &'a self,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Memory>, StoreError>> {
        let key = [key.to_owned()];
        self.read(move |conn| conn.prepare_cached(UNDER)?.query_and_then(key, memory)?.collect())
    }

    fn memory_version<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<i64, StoreError>> {
        let key = [owner.to_owned()];
        self.read(move |conn| Ok(conn.prepare_cached(VERSION)?.query_row(key, |row| row.get(0))?))
    }

    fn write_memory(&self, write: MemoryWrite) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::PowerLoss, move |conn| apply(conn, &write))
    }

    fn last_memory_change<'a>(
        &'a self,
        owner: &'a str,
        key: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<MemoryChange>, StoreError>> {
        let key = (owner.to_owned(), key.map(str::to_owned));
        self.read(move |conn| {
            let found = conn.prepare_cached(LAST)?.query_and_then(key, change)?.next();
            found.transpose()
        })
    }
}

fn apply(conn: &Connection, write: &MemoryWrite) -> Result<(), Failure> {
    let MemoryWrite { owner, key, expected, memory, author, at, undoes } = write;
    let found = conn
        .prepare_cached(GET)?
        .query_row((owner, key), |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))
        .optional()?;
    if found.as_ref().map(|(_, revision)| *revision) != *expected {
        return Err(StoreError::Conflict(key.clone()).into());
    }
    let before = found.map(|(body, _)| body);
    let author = json::write(author)?;
    let number: i64 = conn
        .prepare_cached(RECORD)?
        .query_row((owner, key, before, author, at, undoes.is_some()), |row| row.get(0))?;
    match memory {
        Some(memory) => {
            conn.prepare_cached(PUT)?.execute((owner, key, number, json::write(memory)?))?
        }
        None => conn.prepare_cached(REMOVE)?.execute((owner, key))?,
    };
    if let Some(undone) = undoes {
        conn.prepare_cached(UNDONE)?.execute([undone])?;
    }
    let oldest = at.saturating_sub(MEMORY_CHANGES_AGE);
    conn.prepare_cached(PRUNE)?.execute((owner, number, oldest, MEMORY_CHANGES_KEPT))?;
    Ok(())
}

fn memory(row: &Row<'_>) -> Result<Memory, Failure> {
    let body: Memory = json::read(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?;
    Ok(Memory { revision: row.get(1)?, ..body })
}

fn change(row: &Row<'_>) -> Result<MemoryChange, Failure> {
    let before: Option<String> = row.get(2)?;
    Ok(MemoryChange {
        number: row.get(0)?,
        key: row.get(1)?,
        before: before.as_deref().map(json::read).transpose()?,
        author: json::read(&row.get::<_, String>(3)?)?,
        at: row.get(4)?,
    })
}
