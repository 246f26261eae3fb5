//! SQLite: the chained audit records, written in the transaction of the change that they record,
//! and the signed checkpoints.

use rusqlite::{Connection, OptionalExtension, Params, Row};
use toolcrib_core::audit::{Hash, LOCAL_CHAIN, chain_hash, genesis};
use toolcrib_core::{
    AuditCheckpoint, AuditEvent, AuditRow, AuditStore, BoxFuture, CallId, StoreError,
    canonical_json,
};

use super::at_most;
use crate::error::Failure;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const NEWEST: &str = "SELECT max(seq) FROM audit";
const HEAD: &str = "SELECT seq, hash FROM audit WHERE seq >= 1 ORDER BY seq DESC LIMIT 1";
const APPEND: &str = "INSERT INTO audit (seq, chain, call, hash, text) VALUES (?1, ?2, ?3, ?4, ?5)";
/// Record numbers start at 1. A read from the beginning also returns rows that were inserted before
/// it, with number 0, so that verification reports them.
const RECORDS: &str = "SELECT chain, seq, text, hash FROM audit
    WHERE seq > iif(?1 = 0, -9223372036854775808, ?1) ORDER BY seq LIMIT ?2";
/// Rows with a number below 1 are forged and are not evidence.
const RECORDS_OF: &str =
    "SELECT chain, seq, text, hash FROM audit WHERE call = ?1 AND seq >= 1 ORDER BY seq";
const PUT_CHECKPOINT: &str = "INSERT INTO audit_checkpoints (seq, chain, head, at, key, signature)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const NEWEST_CHECKPOINT: &str = "SELECT coalesce(max(seq), 0) FROM audit_checkpoints";
const CHECKPOINTS: &str =
    "SELECT chain, seq, head, at, key, signature FROM audit_checkpoints ORDER BY seq";

/// Appends a record to the chain of this database, inside the transaction of the caller. The write
/// lock orders all processes.
pub(crate) fn append(conn: &Connection, event: &AuditEvent) -> Result<(), Failure> {
    let (seq, previous) = head(conn)?.unwrap_or_else(|| (0, genesis(LOCAL_CHAIN)));
    let seq = seq + 1;
    let text = event.text(LOCAL_CHAIN, seq);
    let hash = chain_hash(&previous, &text);
    let call = event.call.map(|call| call.to_string());
    let row = (i64::try_from(seq)?, i64::try_from(LOCAL_CHAIN)?, call, &hash, text);
    conn.prepare_cached(APPEND)?.execute(row)?;
    Ok(())
}

/// Returns the number and hash of the newest record; `None` if there is none.
pub(crate) fn head(conn: &Connection) -> Result<Option<(u64, Hash)>, Failure> {
    let mut statement = conn.prepare_cached(HEAD)?;
    let found: Option<(i64, Hash)> =
        statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    found.map(|(seq, hash)| Ok((u64::try_from(seq)?, hash))).transpose()
}

/// Returns the number of the newest record that a checkpoint covers; 0 if there is none.
pub(crate) fn covered(conn: &Connection) -> Result<u64, Failure> {
    let seq: i64 = conn.prepare_cached(NEWEST_CHECKPOINT)?.query_row([], |row| row.get(0))?;
    Ok(u64::try_from(seq)?)
}

/// Stores a checkpoint, inside the transaction of the caller.
pub(crate) fn put_checkpoint(conn: &Connection, made: &AuditCheckpoint) -> Result<(), Failure> {
    let (seq, chain) = (i64::try_from(made.seq)?, i64::try_from(made.chain)?);
    let row = (seq, chain, &made.head, made.at, &made.key, &made.signature);
    conn.prepare_cached(PUT_CHECKPOINT)?.execute(row)?;
    Ok(())
}

impl AuditStore for SqliteStore {
    fn append(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::PowerLoss, move |conn| append(conn, &event))
    }

    fn chains(&self) -> BoxFuture<'_, Result<Vec<(u64, u64)>, StoreError>> {
        self.read(|conn| {
            let newest: Option<i64> =
                conn.prepare_cached(NEWEST)?.query_row([], |row| row.get(0))?;
            Ok(newest.map(|seq| (LOCAL_CHAIN, or_zero(seq))).into_iter().collect())
        })
    }

    fn records(
        &self,
        chain: u64,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>> {
        let key = (i64::try_from(after).unwrap_or(i64::MAX), at_most(limit));
        self.read(move |conn| match chain {
            LOCAL_CHAIN => rows(conn, RECORDS, key),
            _ => Ok(Vec::new()),
        })
    }

    fn records_of(&self, call: CallId) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>> {
        self.read(move |conn| rows(conn, RECORDS_OF, [call.to_string()]))
    }

    fn checkpoint_now(&self) -> BoxFuture<'_, Result<Option<AuditCheckpoint>, StoreError>> {
        self.audit_checkpoint()
    }

    fn checkpoints(&self, chain: u64) -> BoxFuture<'_, Result<Vec<AuditCheckpoint>, StoreError>> {
        self.read(move |conn| match chain {
            LOCAL_CHAIN => conn.prepare_cached(CHECKPOINTS)?.query_and_then([], made)?.collect(),
            _ => Ok(Vec::new()),
        })
    }
}

fn rows(conn: &Connection, sql: &str, key: impl Params) -> Result<Vec<AuditRow>, Failure> {
    conn.prepare_cached(sql)?.query_and_then(key, record)?.collect()
}

/// Reads a row without checking it: the verifier reports any problem.
fn record(row: &Row<'_>) -> Result<AuditRow, Failure> {
    Ok(AuditRow {
        chain: or_zero(row.get(0)?),
        seq: or_zero(row.get(1)?),
        text: String::from_utf8_lossy(row.get_ref(2)?.as_bytes().map_err(rusqlite::Error::from)?)
            .into_owned(),
        hash: canonical_json::hex(row.get_ref(3)?.as_bytes().map_err(rusqlite::Error::from)?),
    })
}

/// Converts a stored number. A negative one becomes 0, which no chain and no record has.
fn or_zero(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn made(row: &Row<'_>) -> Result<AuditCheckpoint, Failure> {
    Ok(AuditCheckpoint {
        chain: number(row, 0)?,
        seq: number(row, 1)?,
        head: row.get(2)?,
        at: row.get(3)?,
        key: row.get(4)?,
        signature: row.get(5)?,
    })
}

fn number(row: &Row<'_>, column: usize) -> Result<u64, Failure> {
    Ok(u64::try_from(row.get::<_, i64>(column)?)?)
}
