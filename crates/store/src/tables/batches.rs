//! SQLite: accepted batches.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row};
use toolcrib_core::{
    Acceptance, AcceptedBatch, AuditEvent, BatchId, CallId, IdempotencyKey, StoreError,
};

use super::{audit, claims, text};
use crate::error::Failure;
use crate::json;
use crate::worker_locks::WorkerLocks;

const ACCEPT: &str = "INSERT INTO batches (id, owner, key, fingerprint, body, accepted_at, epoch)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
const OF_KEY: &str = "SELECT id, key, fingerprint, body, accepted_at, epoch FROM batches
    WHERE owner = ?1 AND key = ?2";
const HOLDER: &str = "SELECT epoch FROM batches WHERE id = ?1";
const TAKE: &str = "UPDATE batches SET epoch = ?2 WHERE id = ?1";
const DONE: &str = "UPDATE batches SET done = 1 WHERE id = ?1";
const SHORTEN: &str = "UPDATE batches SET body = ?2 WHERE id = ?1 AND done = 1";
const OPEN: &str = "SELECT id, key, fingerprint, body, accepted_at, epoch FROM batches
    WHERE done = 0 ORDER BY id";
/// Open batches whose body names a call anywhere.
const NAMING: &str = "SELECT id, key, fingerprint, body, accepted_at, epoch FROM batches
    WHERE done = 0 AND instr(body, ?1) > 0";

pub(super) fn accept(
    conn: &Connection,
    at_work: &WorkerLocks,
    batch: &AcceptedBatch,
) -> Result<Acceptance, Failure> {
    claims::check(conn, batch.epoch)?;
    let owner = &batch.batch.context.owner;
    let key = batch.key.as_ref();
    let added = conn.prepare_cached(ACCEPT)?.execute((
        batch.id.to_string(),
        owner,
        key.map(|key| &key.key),
        key.map(|key| &key.fingerprint),
        json::write(&batch.batch)?,
        batch.accepted_at,
        i64::try_from(batch.epoch)?,
    ))?;
    if added > 0 {
        audit::append(conn, &AuditEvent::accepted(batch))?;
        return Ok(Acceptance::New);
    }
    let Some(key) = key else { return Err(StoreError::Conflict(batch.id.to_string()).into()) };
    let mut statement = conn.prepare_cached(OF_KEY)?;
    let first = statement.query_and_then((owner, &key.key), accepted)?.next().transpose()?;
    match first {
        Some(first) if first.key.as_ref().is_some_and(|k| k.fingerprint == key.fingerprint) => {
            let is_worked_on = claims::is_alive(conn, at_work, first.epoch)?;
            Ok(Acceptance::Known { first: Box::new(first), is_owner_alive: is_worked_on })
        }
        // The key or the id belongs to a different batch.
        _ => Err(StoreError::Conflict(key.key.clone()).into()),
    }
}

pub(super) fn take(
    conn: &Connection,
    at_work: &WorkerLocks,
    id: BatchId,
    epoch: u64,
) -> Result<bool, Failure> {
    claims::check(conn, epoch)?;
    let id = id.to_string();
    let holder: Option<i64> =
        conn.prepare_cached(HOLDER)?.query_row([&id], |row| row.get(0)).optional()?;
    let Some(holder) = holder else { return Ok(false) };
    if claims::is_alive(conn, at_work, u64::try_from(holder)?)? {
        return Ok(false);
    }
    conn.prepare_cached(TAKE)?.execute((id, i64::try_from(epoch)?))?;
    Ok(true)
}

pub(super) fn done(conn: &Connection, id: BatchId) -> Result<(), Failure> {
    let id = id.to_string();
    match conn.prepare_cached(DONE)?.execute([&id])? {
        0 => Err(StoreError::Missing(id).into()),
        _ => Ok(()),
    }
}

pub(super) fn shorten(conn: &Connection, batch: &AcceptedBatch) -> Result<(), Failure> {
    conn.prepare_cached(SHORTEN)?.execute((batch.id.to_string(), json::write(&batch.batch)?))?;
    Ok(())
}

/// Returns the open batch of a call.
pub(super) fn of_call(conn: &Connection, call: CallId) -> Result<Option<AcceptedBatch>, Failure> {
    let mut statement = conn.prepare_cached(NAMING)?;
    for batch in statement.query_and_then([call.to_string()], accepted)? {
        let batch = batch?;
        if batch.batch.calls.iter().any(|one| one.id == call) {
            return Ok(Some(batch));
        }
    }
    Ok(None)
}

/// Returns the open batches of dead workers, oldest first.
pub(super) fn abandoned(
    conn: &Connection,
    at_work: &WorkerLocks,
) -> Result<Vec<AcceptedBatch>, Failure> {
    let mut dead = Vec::new();
    let mut statement = conn.prepare_cached(OPEN)?;
    for batch in statement.query_and_then([], accepted)? {
        let batch = batch?;
        if !claims::is_alive(conn, at_work, batch.epoch)? {
            dead.push(batch);
        }
    }
    Ok(dead)
}

/// Returns the calls of all open batches of any worker.
pub(super) fn open_calls(conn: &Connection) -> Result<HashSet<CallId>, Failure> {
    let mut calls = HashSet::new();
    let mut statement = conn.prepare_cached(OPEN)?;
    for batch in statement.query_and_then([], accepted)? {
        calls.extend(batch?.batch.calls.iter().map(|call| call.id));
    }
    Ok(calls)
}

fn accepted(row: &Row<'_>) -> Result<AcceptedBatch, Failure> {
    let (key, fingerprint): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
    Ok(AcceptedBatch {
        id: text(row, 0)?.parse()?,
        key: key.zip(fingerprint).map(|(key, fingerprint)| IdempotencyKey { key, fingerprint }),
        batch: json::read(text(row, 3)?)?,
        accepted_at: row.get(4)?,
        epoch: u64::try_from(row.get::<_, i64>(5)?)?,
    })
}
