//! Postgres: memories and the changes that can be undone.

use tokio_postgres::Row;
use toolcrib_core::store::{MEMORY_CHANGES_AGE, MEMORY_CHANGES_KEPT};
use toolcrib_core::{BoxFuture, Memory, MemoryChange, MemoryStore, MemoryWrite, StoreError};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::{read, read_or_none, text, write};

const GET: &str = "SELECT body, revision FROM memories WHERE owner = $1 AND key = $2";
const LIST: &str = "SELECT body, revision FROM memories WHERE owner = $1 ORDER BY key";
const UNDER: &str = "SELECT body, revision FROM memories WHERE key = $1 ORDER BY owner";
const VERSION: &str = "SELECT coalesce(max(number), 0) FROM memory_changes WHERE owner = $1";
/// Locks the row, so that it cannot change between the read and the write.
const LOCK: &str = "SELECT body, revision FROM memories WHERE owner = $1 AND key = $2 FOR UPDATE";
const RECORD: &str = "INSERT INTO memory_changes (owner, key, before, author, at, is_undo)
    VALUES ($1, $2, $3, $4, $5, $6) RETURNING number";
/// Of two processes that add the same key, the second finds the row of the first and adds nothing.
const ADD: &str = "INSERT INTO memories (owner, key, revision, body) VALUES ($1, $2, $3, $4)
    ON CONFLICT (owner, key) DO NOTHING";
const CHANGE: &str = "UPDATE memories SET revision = $3, body = $4 WHERE owner = $1 AND key = $2";
const REMOVE: &str = "DELETE FROM memories WHERE owner = $1 AND key = $2";
const UNDONE: &str = "UPDATE memory_changes SET undone = true WHERE number = $1";
const PRUNE: &str = "DELETE FROM memory_changes WHERE owner = $1 AND number < $2
    AND (at < $3 OR number <= (SELECT number FROM memory_changes WHERE owner = $1
        ORDER BY number DESC LIMIT 1 OFFSET $4))";
const LAST: &str = "SELECT number, key, before, author, at FROM memory_changes
    WHERE owner = $1 AND ($2::text IS NULL OR key = $2) AND NOT is_undo AND NOT undone
    ORDER BY number DESC LIMIT 1";

impl MemoryStore for PostgresStore {
    fn memory<'a>(
        &'a self,
        owner: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Memory>, StoreError>> {
        Box::pin(
            async move { self.fetch_optional(GET, &[&escape(owner), &escape(key)], memory).await },
        )
    }

    fn memories<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Memory>, StoreError>> {
        Box::pin(async move { self.fetch_all(LIST, &[&escape(owner)], memory).await })
    }

    fn memories_under<'a>(
        &'a self,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Memory>, StoreError>> {
        Box::pin(async move { self.fetch_all(UNDER, &[&escape(key)], memory).await })
    }

    fn memory_version<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<i64, StoreError>> {
        Box::pin(async move {
            let number = |row: &Row| Ok(row.try_get::<_, i64>(0)?);
            Ok(self.fetch_optional(VERSION, &[&escape(owner)], number).await?.unwrap_or_default())
        })
    }

    fn write_memory(&self, change: MemoryWrite) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Write(change))
    }

    fn last_memory_change<'a>(
        &'a self,
        owner: &'a str,
        key: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<MemoryChange>, StoreError>> {
        Box::pin(async move {
            let (owner, key) = (escape(owner), key.map(escape));
            self.fetch_optional(LAST, &[&owner, &key], change).await
        })
    }
}

struct Write(MemoryWrite);

impl Job for Write {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let MemoryWrite { owner, key, expected, memory, author, at, undoes } = &self.0;
            let (owner, escaped) = (escape(owner), escape(key));
            let found = tx.link.query_optional(LOCK, &[&owner, &escaped]).await?;
            let revision = found.as_ref().map(|row| row.try_get::<_, i64>(1)).transpose()?;
            if revision != *expected {
                return Err(StoreError::Conflict(key.clone()).into());
            }
            let before = found.as_ref().map(|row| row.try_get::<_, String>(0)).transpose()?;
            let author = write(author)?;
            let recorded = tx
                .link
                .query_optional(
                    RECORD,
                    &[&owner, &escaped, &before, &author, at, &undoes.is_some()],
                )
                .await?;
            let number = match &recorded {
                Some(row) => row.try_get::<_, i64>(0)?,
                None => return Err(StoreError::Failed("no change was recorded".into()).into()),
            };
            let written = match memory {
                Some(memory) => {
                    let body = write(memory)?;
                    let sql = if found.is_some() { CHANGE } else { ADD };
                    tx.link.execute(sql, &[&owner, &escaped, &number, &body]).await?
                }
                None => tx.link.execute(REMOVE, &[&owner, &escaped]).await?,
            };
            if written == 0 && (memory.is_some() || found.is_some()) {
                return Err(StoreError::Conflict(key.clone()).into());
            }
            if let Some(undone) = undoes {
                tx.link.execute(UNDONE, &[undone]).await?;
            }
            let oldest = at.saturating_sub(MEMORY_CHANGES_AGE);
            tx.link.execute(PRUNE, &[&owner, &number, &oldest, &MEMORY_CHANGES_KEPT]).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}

fn memory(row: &Row) -> Result<Memory, Failure> {
    let body: Memory = read(row, 0)?;
    Ok(Memory { revision: row.try_get(1)?, ..body })
}

fn change(row: &Row) -> Result<MemoryChange, Failure> {
    Ok(MemoryChange {
        number: row.try_get(0)?,
        key: text(row, 1)?,
        before: read_or_none(row, 2)?,
        author: read(row, 3)?,
        at: row.try_get(4)?,
    })
}
