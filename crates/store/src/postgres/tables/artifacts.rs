//! Postgres: artifacts, the runs that created them, and their content in parts.
//!
//! Parts are written first, each in a separate job, so that a large artifact does not delay the
//! other writes of the process. The row is added after all parts are stored.

use tokio_postgres::Row;
use toolcrib_core::{ArtifactMeta, ArtifactRef, BoxFuture, StoreError};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::statement::{Param, Statement};
use super::{at_most, column, number, read, write};
use crate::artifacts::{ArtifactLimits, over_quota};
use crate::writer::Durability;

/// Bytes of a part: small compared with the 1 GB limit of a field, large compared with the cost of
/// a round trip.
pub(in crate::postgres) const PART_BYTES: usize = 1024 * 1024;

/// Condition for expired artifacts. A run that continues or waits for a person retains the
/// artifacts that it created.
macro_rules! expired {
    () => {
        "expires_at <= $1 AND NOT EXISTS (
            SELECT FROM artifact_runs AS made JOIN runs ON runs.id = made.run
            WHERE made.artifact = artifacts.ref AND runs.status IN ('running', 'paused')
        )"
    };
}

const GET: &str = "SELECT body FROM artifacts WHERE ref = $1 AND owner = $2";
const LIST: &str =
    "SELECT body FROM artifacts WHERE owner = $1 ORDER BY created_at DESC, ref DESC LIMIT $2";
const PARTS: &str = "SELECT content FROM artifact_parts
    WHERE artifact = $1 AND part BETWEEN $2 AND $3 ORDER BY part";
/// Inserts a part, or renews the time of an existing one, so that the collection of parts without a
/// row, which checks the time again under the row's lock, leaves the part to this writer.
const PUT_PART: &str = "INSERT INTO artifact_parts (artifact, part, content) VALUES ($1, $2, $3)
    ON CONFLICT (artifact, part) DO UPDATE SET written_at = now()";
/// One writer at a time per owner: the quota and the trust level are read before they are written.
const LOCK_OWNER: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
/// Locks the parts, so that they remain until the row is added.
const LOCK_PARTS: &str = "SELECT octet_length(content)::bigint FROM artifact_parts
    WHERE artifact = $1 ORDER BY part FOR KEY SHARE";
const KNOWN: &str = "SELECT body FROM artifacts WHERE ref = $1";
const OF_OWNER: &str = "SELECT coalesce(sum(bytes), 0)::bigint FROM artifacts
    WHERE owner = $1 AND ref <> $2";
const OF_RUN: &str = "SELECT coalesce(sum(bytes), 0)::bigint FROM artifact_runs
    WHERE run = $1 AND artifact <> $2";
const PUT: &str = "INSERT INTO artifacts (ref, owner, bytes, created_at, expires_at, body)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (ref) DO UPDATE SET created_at = excluded.created_at,
        expires_at = excluded.expires_at, body = excluded.body";
const PUT_RUN: &str = "INSERT INTO artifact_runs (run, artifact, bytes) VALUES ($1, $2, $3)
    ON CONFLICT (run, artifact) DO NOTHING";
const EXPIRE: &str = concat!("DELETE FROM artifacts WHERE ", expired!(), " RETURNING ref");
const REMOVE: &str = "DELETE FROM artifacts WHERE ref = $1 AND owner = $2 RETURNING ref";
const REMOVE_PARTS: &str = "DELETE FROM artifact_parts WHERE artifact = ANY($1)";
/// Removes parts after an hour: the slowest writer has renewed the time of its last part long
/// before.
const REMOVE_ORPHANS: &str = "DELETE FROM artifact_parts
    WHERE written_at < now() - interval '1 hour'
    AND NOT EXISTS (SELECT FROM artifacts WHERE ref = artifact_parts.artifact)";

impl PostgresStore {
    /// Returns the metadata of an artifact of this owner.
    pub(in crate::postgres) async fn artifact(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
    ) -> Result<Option<ArtifactMeta>, StoreError> {
        self.fetch_optional(GET, &[&escape(&artifact.0), &escape(owner)], meta).await
    }

    /// Returns the metadata of the artifacts of an owner, newest first.
    pub(in crate::postgres) async fn artifacts_of(
        &self,
        owner: &str,
        limit: usize,
    ) -> Result<Vec<ArtifactMeta>, StoreError> {
        self.fetch_all(LIST, &[&escape(owner), &at_most(limit)], meta).await
    }

    /// Returns the content of these parts, in order. Missing ones are skipped.
    pub(in crate::postgres) async fn artifact_parts(
        &self,
        artifact: &ArtifactRef,
        first: i32,
        last: i32,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let content = |row: &Row| Ok(row.try_get::<_, Vec<u8>>(0)?);
        self.fetch_all(PARTS, &[&escape(&artifact.0), &first, &last], content).await
    }

    /// Stores one part of an artifact.
    pub(in crate::postgres) fn put_artifact_part(
        &self,
        artifact: &ArtifactRef,
        part: i32,
        content: Vec<u8>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let params: Vec<Param> =
            vec![Box::new(artifact.0.clone()), Box::new(part), Box::new(content)];
        self.write(Statement::new(PUT_PART, params).until_power_loss())
    }

    /// Adds the row of an artifact whose parts are stored, and removes expired artifacts. `None` if
    /// parts are missing: another process has removed an artifact of this content meanwhile.
    pub(in crate::postgres) fn put_artifact(
        &self,
        meta: ArtifactMeta,
        limits: ArtifactLimits,
    ) -> BoxFuture<'static, Result<Option<ArtifactMeta>, StoreError>> {
        self.write(Put { meta, limits })
    }

    /// Removes an artifact of this owner.
    pub(in crate::postgres) fn remove_artifact(
        &self,
        artifact: &ArtifactRef,
        owner: &str,
    ) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.write(Remove { artifact: artifact.clone(), owner: owner.to_owned() })
    }

    /// Removes expired artifacts, and parts whose writer died before it added their row.
    pub(in crate::postgres) fn collect_artifacts(
        &self,
        now_ms: i64,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        self.write(Collect { now_ms })
    }
}

struct Put {
    meta: ArtifactMeta,
    limits: ArtifactLimits,
}

impl Job for Put {
    type Answer = Option<ArtifactMeta>;

    /// Returns the durability of the outcome that refers to the row, because the row is committed
    /// first.
    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(
        &'a self,
        tx: &'a Tx<'_>,
    ) -> BoxFuture<'a, Result<JobOutput<Option<ArtifactMeta>>, Failure>> {
        Box::pin(async move {
            let mut meta = self.meta.clone();
            let owner = escape(&meta.owner).into_owned();
            tx.link.query(LOCK_OWNER, &[&owner]).await?;
            // Also frees space when a quota is exhausted.
            expire(tx, meta.created_at).await?;
            if !self.has_all_parts(tx).await? {
                return Ok(JobOutput::unaudited(None));
            }
            self.check_quotas(tx, &owner).await?;
            let known = tx.link.query_optional(KNOWN, &[&meta.artifact.0]).await?;
            // The same bytes from a trusted source do not make untrusted content trusted.
            if let Some(row) = &known {
                meta.trust = meta.trust.max(self::meta(row)?.trust);
            }
            let (bytes, body) = (column(meta.bytes), write(&meta)?);
            let expires_at = meta.expires_at.unwrap_or(i64::MAX);
            let params: super::super::connection::Params<'_> =
                &[&meta.artifact.0, &owner, &bytes, &meta.created_at, &expires_at, &body];
            tx.link.execute(PUT, params).await?;
            if let Some(run) = meta.run {
                let run = run.to_string();
                tx.link.execute(PUT_RUN, &[&run, &meta.artifact.0, &bytes]).await?;
            }
            Ok(JobOutput::unaudited(Some(meta)))
        })
    }
}

impl Put {
    async fn has_all_parts(&self, tx: &Tx<'_>) -> Result<bool, Failure> {
        let rows = tx.link.query(LOCK_PARTS, &[&self.meta.artifact.0]).await?;
        let stored =
            rows.iter().try_fold(0, |sum: u64, row| Ok::<_, Failure>(sum + number(row, 0)?))?;
        Ok(stored == self.meta.bytes)
    }

    async fn check_quotas(&self, tx: &Tx<'_>, owner: &str) -> Result<(), Failure> {
        let of_owner = self.bytes_without_this(tx, OF_OWNER, owner).await?;
        self.check_quota("the owner", of_owner, self.limits.owner_bytes)?;
        if let Some(run) = self.meta.run {
            let of_run = self.bytes_without_this(tx, OF_RUN, &run.to_string()).await?;
            self.check_quota("the run", of_run, self.limits.run_bytes)?;
        }
        Ok(())
    }

    async fn bytes_without_this(
        &self,
        tx: &Tx<'_>,
        sql: &'static str,
        holder: &str,
    ) -> Result<u64, Failure> {
        let row = tx.link.query_optional(sql, &[&holder, &self.meta.artifact.0]).await?;
        row.map_or(Ok(0), |row| number(&row, 0))
    }

    fn check_quota(&self, holder: &str, used: u64, limit: u64) -> Result<(), Failure> {
        over_quota(holder, used, self.meta.bytes, limit).map_or(Ok(()), |full| Err(full.into()))
    }
}

struct Remove {
    artifact: ArtifactRef,
    owner: String,
}

impl Job for Remove {
    type Answer = bool;

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<bool>, Failure>> {
        Box::pin(async move {
            let key = (escape(&self.artifact.0), escape(&self.owner));
            let removed = tx.link.query(REMOVE, &[&key.0, &key.1]).await?;
            remove_parts(tx, &removed).await?;
            Ok(JobOutput::unaudited(!removed.is_empty()))
        })
    }
}

struct Collect {
    now_ms: i64,
}

impl Job for Collect {
    type Answer = ();

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            expire(tx, self.now_ms).await?;
            tx.link.execute(REMOVE_ORPHANS, &[]).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}

async fn expire(tx: &Tx<'_>, now_ms: i64) -> Result<(), Failure> {
    let expired = tx.link.query(EXPIRE, &[&now_ms]).await?;
    remove_parts(tx, &expired).await
}

/// Removes the content of artifacts whose rows were removed. A writer of the same content that has
/// stored its parts, and not its row, finds them missing and stores them again.
async fn remove_parts(tx: &Tx<'_>, removed: &[Row]) -> Result<(), Failure> {
    if removed.is_empty() {
        return Ok(());
    }
    let names =
        removed.iter().map(|row| row.try_get::<_, &str>(0)).collect::<Result<Vec<_>, _>>()?;
    tx.link.execute(REMOVE_PARTS, &[&names]).await?;
    Ok(())
}

fn meta(row: &Row) -> Result<ArtifactMeta, Failure> {
    read(row, 0)
}
