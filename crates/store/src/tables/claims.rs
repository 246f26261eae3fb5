//! SQLite: claims of workers, and whether their holders are alive.

use rusqlite::{Connection, OptionalExtension};
use toolcrib_core::{Clock as _, StoreError, SystemClock, WorkerState};

use crate::error::Failure;
use crate::worker_locks::WorkerLocks;

const CLAIM: &str = "INSERT INTO workers (who, started_at) VALUES (?1, ?2)";
const END: &str = "UPDATE workers SET ended_at = ?2 WHERE epoch = ?1 AND ended_at IS NULL";
const ENDED: &str = "SELECT ended_at IS NOT NULL FROM workers WHERE epoch = ?1";
const WHO: &str = "SELECT who FROM workers WHERE epoch = ?1";
const NEWEST: &str = "SELECT coalesce(max(epoch), 0) FROM workers";
const AT_WORK: &str = "SELECT epoch FROM workers WHERE ended_at IS NULL";

/// Inserts a claim. Its lock is taken before the number becomes visible.
pub(super) fn claim(conn: &Connection, workers: &WorkerLocks) -> Result<u64, Failure> {
    let who = format!("process {}", std::process::id());
    conn.prepare_cached(CLAIM)?.execute((who, SystemClock.now_ms()))?;
    let epoch = u64::try_from(conn.last_insert_rowid())?;
    workers.acquire(epoch)?;
    Ok(epoch)
}

/// Ends a claim.
pub(super) fn end(conn: &Connection, epoch: u64) -> Result<(), Failure> {
    conn.prepare_cached(END)?.execute((number(epoch), SystemClock.now_ms()))?;
    Ok(())
}

/// Refuses a claim that has ended. Epoch 0 belongs to an engine without a claim.
pub(super) fn check(conn: &Connection, claimed: u64) -> Result<(), Failure> {
    if claimed == 0 || has_ended(conn, claimed)? == Some(false) {
        return Ok(());
    }
    let newest: i64 = conn.prepare_cached(NEWEST)?.query_row([], |row| row.get(0))?;
    Err(StoreError::Fenced { current: u64::try_from(newest)?, claimed }.into())
}

/// Returns whether the holder of a claim is alive.
pub(super) fn is_alive(
    conn: &Connection,
    workers: &WorkerLocks,
    epoch: u64,
) -> Result<bool, Failure> {
    Ok(epoch == 0 || (has_ended(conn, epoch)? == Some(false) && workers.is_alive(epoch)))
}

/// Returns whether the holder is alive, with its name.
pub(super) fn state(
    conn: &Connection,
    workers: &WorkerLocks,
    epoch: u64,
) -> Result<WorkerState, Failure> {
    let who: Option<String> =
        conn.prepare_cached(WHO)?.query_row([number(epoch)], |row| row.get(0)).optional()?;
    Ok(match who {
        None => WorkerState::Unknown,
        Some(who) if is_alive(conn, workers, epoch)? => WorkerState::Alive(who),
        Some(_) => WorkerState::Gone,
    })
}

/// Ends the claims of dead workers. Their later writes are refused.
pub(super) fn end_dead_claims(conn: &Connection, workers: &WorkerLocks) -> Result<(), Failure> {
    let mut statement = conn.prepare_cached(AT_WORK)?;
    let at_work = statement
        .query_and_then([], |row| Ok::<_, Failure>(u64::try_from(row.get::<_, i64>(0)?)?))?;
    for epoch in at_work.collect::<Result<Vec<_>, _>>()? {
        if !workers.is_alive(epoch) {
            end(conn, epoch)?;
        }
    }
    Ok(())
}

/// Returns the lock files of claims that have ended.
pub(super) fn stale_lock_files(
    conn: &Connection,
    workers: &WorkerLocks,
) -> Result<Vec<u64>, Failure> {
    let mut left = Vec::new();
    for epoch in workers.files() {
        if has_ended(conn, epoch)? == Some(true) {
            left.push(epoch);
        }
    }
    Ok(left)
}

/// Returns whether a claim has ended; `None` if the epoch was never claimed.
fn has_ended(conn: &Connection, epoch: u64) -> Result<Option<bool>, Failure> {
    let mut statement = conn.prepare_cached(ENDED)?;
    Ok(statement.query_row([number(epoch)], |row| row.get(0)).optional()?)
}

/// Converts an epoch to an SQLite integer. No claim has a number too large for it.
fn number(epoch: u64) -> i64 {
    i64::try_from(epoch).unwrap_or(i64::MAX)
}
