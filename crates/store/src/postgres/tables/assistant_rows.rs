//! Postgres: rows of the assistant and the changes that can be undone.

use tokio_postgres::Row;
use toolcrib_core::store::{ROW_CHANGES_AGE, ROW_CHANGES_KEPT};
use toolcrib_core::{
    AssistantRow, AssistantRowChange, AssistantRowStore, AssistantRowWrite, BoxFuture, RowKind,
    StoreError,
};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::{at_most, read, read_or_none, text, write};

const GET: &str = "SELECT key, revision, body FROM assistant_rows
    WHERE owner = $1 AND kind = $2 AND key = $3";
const LIST: &str = "SELECT key, revision, body FROM assistant_rows
    WHERE owner = $1 AND kind = $2 ORDER BY key";
const OWNERS: &str = "SELECT DISTINCT owner FROM assistant_rows WHERE kind = $1 ORDER BY owner";
/// Locks the row, so that it cannot change between the read and the write.
const LOCK: &str = "SELECT revision, body FROM assistant_rows
    WHERE owner = $1 AND kind = $2 AND key = $3 FOR UPDATE";
const RECORD: &str = "INSERT INTO assistant_changes
    (owner, kind, key, before, note, author, at, is_undo)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING number";
/// Of two processes that add the same key, the second finds the row of the first and adds nothing.
const ADD: &str = "INSERT INTO assistant_rows (owner, kind, key, revision, body)
    VALUES ($1, $2, $3, $4, $5) ON CONFLICT (owner, kind, key) DO NOTHING";
const CHANGE: &str = "UPDATE assistant_rows SET revision = $4, body = $5
    WHERE owner = $1 AND kind = $2 AND key = $3";
const REMOVE: &str = "DELETE FROM assistant_rows WHERE owner = $1 AND kind = $2 AND key = $3";
const UNDONE: &str = "UPDATE assistant_changes SET undone = true WHERE number = $1";
const PRUNE: &str = "DELETE FROM assistant_changes WHERE owner = $1 AND kind = $2 AND number < $3
    AND (at < $4 OR number <= (SELECT number FROM assistant_changes
        WHERE owner = $1 AND kind = $2 ORDER BY number DESC LIMIT 1 OFFSET $5))";
const CHANGES: &str = "SELECT number, key, before, note, author, at, NOT is_undo AND NOT undone
    FROM assistant_changes WHERE owner = $1 AND kind = $2 AND ($3::text IS NULL OR key = $3)
    ORDER BY number DESC LIMIT $4";

impl AssistantRowStore for PostgresStore {
    fn assistant_row<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<AssistantRow>, StoreError>> {
        Box::pin(async move {
            let (owner, key) = (escape(owner), escape(key));
            self.fetch_optional(GET, &[&owner, &kind.as_str(), &key], stored_row).await
        })
    }

    fn assistant_rows<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
    ) -> BoxFuture<'a, Result<Vec<AssistantRow>, StoreError>> {
        Box::pin(async move {
            self.fetch_all(LIST, &[&escape(owner), &kind.as_str()], stored_row).await
        })
    }

    fn assistant_row_owners(
        &self,
        kind: RowKind,
    ) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        Box::pin(async move {
            self.fetch_all(OWNERS, &[&kind.as_str()], |row: &Row| text(row, 0)).await
        })
    }

    fn write_assistant_rows(
        &self,
        writes: Vec<AssistantRowWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Write(writes))
    }

    fn assistant_row_changes<'a>(
        &'a self,
        owner: &'a str,
        kind: RowKind,
        key: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<AssistantRowChange>, StoreError>> {
        Box::pin(async move {
            let (owner, key, limit) = (escape(owner), key.map(escape), at_most(limit));
            self.fetch_all(CHANGES, &[&owner, &kind.as_str(), &key, &limit], change).await
        })
    }
}

struct Write(Vec<AssistantRowWrite>);

impl Job for Write {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            for one in &self.0 {
                apply(tx, one).await?;
            }
            Ok(JobOutput::unaudited(()))
        })
    }
}

async fn apply(tx: &Tx<'_>, change: &AssistantRowWrite) -> Result<(), Failure> {
    let AssistantRowWrite { owner, kind, key, expected, body, note, author, at, undoes } = change;
    let (owner, escaped, kind) = (escape(owner), escape(key), kind.as_str());
    let found = tx.link.query_optional(LOCK, &[&owner, &kind, &escaped]).await?;
    let revision = found.as_ref().map(|row| row.try_get::<_, i64>(0)).transpose()?;
    if revision != *expected {
        return Err(StoreError::Conflict(key.clone()).into());
    }
    let before = found.as_ref().map(|row| row.try_get::<_, String>(1)).transpose()?;
    let (note, author, is_undo) = (escape(note), write(author)?, undoes.is_some());
    let recorded = tx
        .link
        .query_optional(RECORD, &[&owner, &kind, &escaped, &before, &note, &author, at, &is_undo])
        .await?;
    let number = match &recorded {
        Some(row) => row.try_get::<_, i64>(0)?,
        None => return Err(StoreError::Failed("no change was recorded".into()).into()),
    };
    let written = match body {
        Some(body) => {
            let body = write(body)?;
            let sql = if found.is_some() { CHANGE } else { ADD };
            tx.link.execute(sql, &[&owner, &kind, &escaped, &number, &body]).await?
        }
        None => tx.link.execute(REMOVE, &[&owner, &kind, &escaped]).await?,
    };
    if written == 0 && (body.is_some() || found.is_some()) {
        return Err(StoreError::Conflict(key.clone()).into());
    }
    if let Some(undone) = undoes {
        tx.link.execute(UNDONE, &[undone]).await?;
    }
    let oldest = at.saturating_sub(ROW_CHANGES_AGE);
    tx.link.execute(PRUNE, &[&owner, &kind, &number, &oldest, &ROW_CHANGES_KEPT]).await?;
    Ok(())
}

fn stored_row(row: &Row) -> Result<AssistantRow, Failure> {
    Ok(AssistantRow { key: text(row, 0)?, revision: row.try_get(1)?, body: read(row, 2)? })
}

fn change(row: &Row) -> Result<AssistantRowChange, Failure> {
    Ok(AssistantRowChange {
        number: row.try_get(0)?,
        key: text(row, 1)?,
        before: read_or_none(row, 2)?,
        note: text(row, 3)?,
        author: read(row, 4)?,
        at: row.try_get(5)?,
        can_be_undone: row.try_get(6)?,
    })
}
