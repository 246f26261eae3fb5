//! SQLite: artifact metadata, the runs that created each artifact, and quotas. The bytes are in
//! files.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use toolcrib_core::{ArtifactMeta, ArtifactRef, RunId, Trust};

use super::call_row::word;
use super::{at_most, text};
use crate::error::Failure;
use crate::json;

macro_rules! columns {
    () => {
        "ref, owner, media_type, trust, source, bytes, total_bytes, sha256, call, run, conversation, created_at, expires_at"
    };
}
/// Condition for expired artifacts. A run that continues or waits for a person retains the
/// artifacts that it created.
macro_rules! expired {
    () => {
        "expires_at <= ?1 AND NOT EXISTS (
            SELECT 1 FROM artifact_runs AS made JOIN runs ON runs.id = made.run
            WHERE made.artifact = artifacts.ref AND runs.status IN ('running', 'paused')
        )"
    };
}

const ANY_EXPIRED: &str = concat!("SELECT EXISTS (SELECT 1 FROM artifacts WHERE ", expired!(), ")");
const EXPIRE: &str = concat!("DELETE FROM artifacts WHERE ", expired!(), " RETURNING ref");
const GET: &str = concat!("SELECT ", columns!(), " FROM artifacts WHERE ref = ?1 AND owner = ?2");
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM artifacts WHERE owner = ?1 ORDER BY created_at DESC, ref DESC LIMIT ?2"
);
const PUT: &str = concat!(
    "INSERT INTO artifacts (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
    ON CONFLICT (ref) DO UPDATE SET media_type = excluded.media_type, trust = excluded.trust,
        source = excluded.source, total_bytes = excluded.total_bytes, call = excluded.call,
        run = excluded.run, conversation = excluded.conversation, created_at = excluded.created_at,
        expires_at = excluded.expires_at"
);
const PUT_RUN: &str = "INSERT INTO artifact_runs (run, artifact, bytes) VALUES (?1, ?2, ?3)
    ON CONFLICT (run, artifact) DO NOTHING";
const TRUST: &str = "SELECT trust FROM artifacts WHERE ref = ?1";
const OF_OWNER: &str =
    "SELECT coalesce(sum(bytes), 0) FROM artifacts WHERE owner = ?1 AND ref <> ?2";
const OF_RUN: &str =
    "SELECT coalesce(sum(bytes), 0) FROM artifact_runs WHERE run = ?1 AND artifact <> ?2";

/// Returns an artifact of this owner.
pub(crate) fn get(
    conn: &Connection,
    artifact: &ArtifactRef,
    owner: &str,
) -> Result<Option<ArtifactMeta>, Failure> {
    Ok(list(conn, GET, (&artifact.0, owner))?.pop())
}

/// Returns the artifacts of an owner, newest first.
pub(crate) fn list_of_owner(
    conn: &Connection,
    owner: &str,
    limit: usize,
) -> Result<Vec<ArtifactMeta>, Failure> {
    list(conn, LIST, (owner, at_most(limit)))
}

fn list(conn: &Connection, sql: &str, key: impl Params) -> Result<Vec<ArtifactMeta>, Failure> {
    conn.prepare_cached(sql)?.query_and_then(key, meta)?.collect()
}

/// Inserts an artifact, or renews the row of an existing one.
pub(crate) fn put(conn: &Connection, meta: &ArtifactMeta) -> Result<(), Failure> {
    let bytes = i64::try_from(meta.bytes)?;
    let trust = json::write(&meta.trust)?;
    conn.prepare_cached(PUT)?.execute(params![
        meta.artifact.0,
        meta.owner,
        meta.media_type,
        trust.trim_matches('"'),
        meta.source,
        bytes,
        i64::try_from(meta.total_bytes)?,
        meta.sha256,
        meta.call.to_string(),
        meta.run.map(|run| run.to_string()),
        meta.conversation,
        meta.created_at,
        meta.expires_at.unwrap_or(i64::MAX),
    ])?;
    if let Some(run) = meta.run {
        conn.prepare_cached(PUT_RUN)?.execute((run.to_string(), &meta.artifact.0, bytes))?;
    }
    Ok(())
}

/// Returns the trust level of the artifact with this reference; `None` if there is none.
pub(crate) fn trust(conn: &Connection, artifact: &ArtifactRef) -> Result<Option<Trust>, Failure> {
    let mut statement = conn.prepare_cached(TRUST)?;
    let found: Option<String> = statement.query_row([&artifact.0], |row| row.get(0)).optional()?;
    found.as_deref().map(word).transpose()
}

/// Returns the bytes stored for an owner, without this artifact.
pub(crate) fn bytes_of_owner(
    conn: &Connection,
    owner: &str,
    but: &ArtifactRef,
) -> Result<u64, Failure> {
    bytes(conn, OF_OWNER, (owner, &but.0))
}

/// Returns the bytes created by a run, without this artifact.
pub(crate) fn bytes_of_run(
    conn: &Connection,
    run: RunId,
    but: &ArtifactRef,
) -> Result<u64, Failure> {
    bytes(conn, OF_RUN, (run.to_string(), &but.0))
}

fn bytes(conn: &Connection, sql: &str, key: impl Params) -> Result<u64, Failure> {
    let sum: i64 = conn.prepare_cached(sql)?.query_row(key, |row| row.get(0))?;
    Ok(u64::try_from(sum)?)
}

/// Returns whether any artifact has expired.
pub(crate) fn any_expired(conn: &Connection, now_ms: i64) -> Result<bool, Failure> {
    Ok(conn.prepare_cached(ANY_EXPIRED)?.query_row([now_ms], |row| row.get(0))?)
}

/// Removes the expired artifacts and returns their references.
pub(crate) fn expire(conn: &Connection, now_ms: i64) -> Result<Vec<ArtifactRef>, Failure> {
    names(conn, EXPIRE, [now_ms])
}

/// Returns the references of all artifacts.
pub(crate) fn all(conn: &Connection) -> Result<Vec<ArtifactRef>, Failure> {
    names(conn, "SELECT ref FROM artifacts", [])
}

fn names(conn: &Connection, sql: &str, key: impl Params) -> Result<Vec<ArtifactRef>, Failure> {
    let mut statement = conn.prepare_cached(sql)?;
    statement.query_and_then(key, |row| Ok(ArtifactRef(row.get(0)?)))?.collect()
}

/// Removes an artifact of this owner; `None` means any owner.
pub(crate) fn remove(
    conn: &Connection,
    artifact: &ArtifactRef,
    owner: Option<&str>,
) -> Result<bool, Failure> {
    const REMOVE: &str = "DELETE FROM artifacts WHERE ref = ?1 AND owner = coalesce(?2, owner)";
    Ok(conn.prepare_cached(REMOVE)?.execute((&artifact.0, owner))? > 0)
}

fn meta(row: &Row<'_>) -> Result<ArtifactMeta, Failure> {
    let run: Option<String> = row.get(9)?;
    Ok(ArtifactMeta {
        artifact: ArtifactRef(row.get(0)?),
        owner: row.get(1)?,
        media_type: row.get(2)?,
        trust: word(text(row, 3)?)?,
        source: row.get(4)?,
        bytes: u64::try_from(row.get::<_, i64>(5)?)?,
        total_bytes: u64::try_from(row.get::<_, i64>(6)?)?,
        sha256: row.get(7)?,
        call: text(row, 8)?.parse()?,
        run: run.map(|run| run.parse()).transpose()?,
        conversation: row.get(10)?,
        created_at: row.get(11)?,
        expires_at: Some(row.get(12)?).filter(|end| *end != i64::MAX),
    })
}
