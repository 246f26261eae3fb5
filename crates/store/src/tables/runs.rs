//! SQLite: runs of the agent loop.

use rusqlite::{Connection, OptionalExtension, Params, Row, ffi};
use toolcrib_core::{BoxFuture, OpenRun, RunId, RunStatus, RunStore, StoreError, StoredRun};

use super::{at_most, text};
use crate::error::Failure;
use crate::json;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const PUT: &str = "INSERT INTO runs
    (id, conversation, owner, context, status, state, epoch, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT (id) DO UPDATE SET conversation = excluded.conversation, context = excluded.context,
        status = excluded.status, state = excluded.state, epoch = excluded.epoch,
        created_at = excluded.created_at, updated_at = excluded.updated_at
    WHERE epoch <= excluded.epoch AND owner = excluded.owner";
const STANDS: &str = "SELECT owner, epoch, status FROM runs WHERE id = ?1";
macro_rules! select {
    ($of:literal) => {
        concat!(
            "SELECT id, conversation, context, status, state, epoch, created_at, updated_at ",
            $of
        )
    };
}

const GET: &str = select!("FROM runs WHERE id = ?1");
const LIST: &str = select!("FROM runs WHERE owner = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2");
const LIST_STATUS: &str = select!(
    "FROM runs WHERE owner = ?1 AND status = ?3 ORDER BY created_at DESC, id DESC LIMIT ?2"
);
const BEFORE: &str = select!(
    "FROM runs WHERE owner = ?1 AND (created_at, id) < (?3, ?4)
    ORDER BY created_at DESC, id DESC LIMIT ?2"
);
const BEFORE_STATUS: &str = select!(
    "FROM runs WHERE owner = ?1 AND status = ?5 AND (created_at, id) < (?3, ?4)
    ORDER BY created_at DESC, id DESC LIMIT ?2"
);
/// Steps through the index from owner to owner, so that the cost does not grow with the number of
/// ended runs.
const OPEN: &str = "WITH RECURSIVE owners (name) AS (
        SELECT min(owner) FROM runs UNION ALL
        SELECT (SELECT min(owner) FROM runs WHERE owner > name) FROM owners WHERE name IS NOT NULL
    )
    SELECT id, status, epoch FROM owners JOIN runs ON owner = name
    WHERE status IN ('running', 'paused') LIMIT ?1";
const TAKE: &str = "UPDATE runs SET status = 'running', epoch = epoch + 1
    WHERE id = ?1 AND epoch = ?2 AND status IN ('running', 'paused')
    RETURNING id, conversation, context, status, state, epoch, created_at, updated_at";

impl RunStore for SqliteStore {
    fn put_run(&self, run: StoredRun) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(durability(&run), move |conn| put(conn, &run))
    }

    fn run(&self, id: RunId) -> BoxFuture<'_, Result<Option<StoredRun>, StoreError>> {
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(GET)?;
            let found = statement.query_and_then([id.to_string()], run)?.next();
            found.transpose()
        })
    }

    fn claim_run(&self, id: RunId, epoch: u64) -> BoxFuture<'_, Result<StoredRun, StoreError>> {
        // An epoch must never be assigned twice.
        self.write(Durability::PowerLoss, move |conn| {
            let id = id.to_string();
            take(conn, &id, epoch)
        })
    }

    fn runs<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>> {
        let (owner, limit) = (owner.to_owned(), at_most(limit));
        self.read(move |conn| match status {
            None => list(conn, LIST, (owner, limit)),
            Some(status) => list(conn, LIST_STATUS, (owner, limit, status.as_str())),
        })
    }

    fn runs_before<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        (created_at, id): (i64, RunId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>> {
        let (owner, limit, id) = (owner.to_owned(), at_most(limit), id.to_string());
        self.read(move |conn| match status {
            None => list(conn, BEFORE, (owner, limit, created_at, id)),
            Some(status) => {
                list(conn, BEFORE_STATUS, (owner, limit, created_at, id, status.as_str()))
            }
        })
    }

    fn open_runs(&self, limit: usize) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(OPEN)?;
            statement.query_and_then([at_most(limit)], open_run)?.collect()
        })
    }
}

fn open_run(row: &Row<'_>) -> Result<OpenRun, Failure> {
    Ok(OpenRun {
        id: text(row, 0)?.parse()?,
        status: status(text(row, 1)?)?,
        epoch: u64::try_from(row.get::<_, i64>(2)?)?,
    })
}

fn list(conn: &Connection, sql: &str, key: impl Params) -> Result<Vec<StoredRun>, Failure> {
    conn.prepare_cached(sql)?.query_and_then(key, run)?.collect()
}

/// Returns the durability of a run: a paused run waits for a person and must survive a power loss.
pub(super) fn durability(run: &StoredRun) -> Durability {
    match run.status {
        RunStatus::Paused => Durability::PowerLoss,
        RunStatus::Running | RunStatus::Ended => Durability::ProcessCrash,
    }
}

/// Writes a run, inside the transaction of the caller.
pub(super) fn put(conn: &Connection, run: &StoredRun) -> Result<(), Failure> {
    let id = run.id.to_string();
    let conversation = run.conversation.to_string();
    let row = (
        &id,
        &conversation,
        &run.context.owner,
        json::write(&run.context)?,
        run.status.as_str(),
        json::write(&run.state)?,
        i64::try_from(run.epoch)?,
        run.created_at,
        run.updated_at,
    );
    match conn.prepare_cached(PUT)?.execute(row) {
        Ok(0) => Err(refused(conn, id, run)?.into()),
        Ok(_) => Ok(()),
        Err(e) if is_foreign_key(&e) => Err(StoreError::Missing(conversation).into()),
        Err(e) => Err(e.into()),
    }
}

/// Returns the error for a run that was not replaced.
fn refused(conn: &Connection, id: String, run: &StoredRun) -> Result<StoreError, Failure> {
    let (owner, epoch): (String, i64) =
        conn.prepare_cached(STANDS)?.query_row([&id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(if owner == run.context.owner {
        StoreError::Fenced { current: u64::try_from(epoch)?, claimed: run.epoch }
    } else {
        StoreError::Conflict(id)
    })
}

fn take(conn: &Connection, id: &str, epoch: u64) -> Result<StoredRun, Failure> {
    let mut statement = conn.prepare_cached(TAKE)?;
    if let Some(taken) = statement.query_and_then((id, i64::try_from(epoch)?), run)?.next() {
        return taken;
    }
    let status: Option<String> =
        conn.prepare_cached(STANDS)?.query_row([id], |row| row.get(2)).optional()?;
    Err(status.map_or_else(|| StoreError::Missing(id.to_owned()), StoreError::Conflict).into())
}

fn run(row: &Row<'_>) -> Result<StoredRun, Failure> {
    Ok(StoredRun {
        id: text(row, 0)?.parse()?,
        conversation: text(row, 1)?.parse()?,
        context: json::read(text(row, 2)?)?,
        status: status(text(row, 3)?)?,
        state: json::read(text(row, 4)?)?,
        epoch: u64::try_from(row.get::<_, i64>(5)?)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
    })
}

fn status(name: &str) -> Result<RunStatus, Failure> {
    [RunStatus::Running, RunStatus::Paused, RunStatus::Ended]
        .into_iter()
        .find(|status| status.as_str() == name)
        .ok_or_else(|| StoreError::Failed(format!("a run has the unknown status {name:?}")).into())
}

fn is_foreign_key(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|e| e.extended_code == ffi::SQLITE_CONSTRAINT_FOREIGNKEY)
}
