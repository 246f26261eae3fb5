//! Postgres: claims of workers.

use std::time::Instant;

use toolcrib_core::{BoxFuture, StoreError, WorkerState};

use super::super::PostgresStore;
use super::super::connection::Params;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::{column, number};
use crate::ProcessIdentity;

/// `$1` is the number that was just drawn for this store's audit chain, or NULL.
const CLAIM: &str = "INSERT INTO workers
        (epoch, who, state, expires_at, pid, host, version, started_at, renewed_at, instance)
    VALUES (
        coalesce($1, nextval('epochs')),
        'process ' || $2::bigint || coalesce(' at ' || host(nullif(inet_client_addr(), '127.0.0.1')), ''),
        'working', clock_timestamp() + $3::double precision * interval '1 second',
        $2::bigint, $4, $5, clock_timestamp() - $6::double precision * interval '1 second', clock_timestamp(), $7
    ) RETURNING epoch";
/// The claims of former processes of an instance.
const RELEASE_FORMER: &str = "UPDATE workers SET state = 'released'
    WHERE instance = $1 AND state = 'working' AND epoch <> ALL($2)";
const RELEASE: &str =
    "UPDATE workers SET state = 'released' WHERE epoch = $1 AND state = 'working'";
const WORKER: &str = "SELECT who, works(epoch) FROM workers WHERE epoch = $1";

impl PostgresStore {
    pub(super) async fn claim_epoch(&self) -> Result<u64, StoreError> {
        let lease = self.inner.leases.seconds();
        let opened = self.inner.opened;
        let identity = self.inner.identity.clone();
        let instance = self.inner.instance.clone();
        let epoch = self.write(Claim { lease, identity, instance, opened }).await?;
        self.inner.leases.add(column(epoch));
        Ok(epoch)
    }

    pub(super) async fn release_epoch(&self, epoch: u64) -> Result<(), StoreError> {
        self.inner.leases.remove(column(epoch));
        self.write(Release(epoch)).await
    }

    pub(super) fn claimed_epochs(&self) -> Vec<i64> {
        self.inner.leases.claimed()
    }

    pub(super) async fn release_former_epochs(&self) -> Result<(), StoreError> {
        let Some(instance) = self.inner.instance.clone() else { return Ok(()) };
        self.write(ReleaseFormer { instance, held: self.inner.leases.held() }).await
    }

    pub(super) async fn worker_state(&self, epoch: u64) -> Result<WorkerState, StoreError> {
        let found = self
            .fetch_optional(WORKER, &[&column(epoch)], |row| {
                let works: bool = row.try_get(1)?;
                Ok(if works { WorkerState::Alive(row.try_get(0)?) } else { WorkerState::Gone })
            })
            .await?;
        Ok(found.unwrap_or(WorkerState::Unknown))
    }
}

struct Claim {
    lease: f64,
    /// `None` for a command.
    identity: Option<ProcessIdentity>,
    /// `None` for a command.
    instance: Option<String>,
    /// When this store was opened.
    opened: Instant,
}

impl Job for Claim {
    type Answer = u64;

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(CLAIM)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<u64>, Failure>> {
        Box::pin(async move {
            let (fresh, process) = (tx.fresh_number(), i64::from(std::process::id()));
            let host = self.identity.as_ref().map(|own| escape(&own.host));
            let version = self.identity.as_ref().map(|own| escape(&own.version));
            let age = self.opened.elapsed().as_secs_f64();
            let params: Params<'_> =
                &[&fresh, &process, &self.lease, &host, &version, &age, &self.instance];
            let row = tx.link.query_optional(CLAIM, params).await?;
            let missing = || StoreError::Failed("a claim was not written".into());
            Ok(JobOutput::unaudited(number(&row.ok_or_else(missing)?, 0)?))
        })
    }
}

struct ReleaseFormer {
    instance: String,
    held: Vec<i64>,
}

impl Job for ReleaseFormer {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(RELEASE_FORMER)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            tx.link.execute(RELEASE_FORMER, &[&self.instance, &self.held]).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}

struct Release(u64);

impl Job for Release {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(RELEASE)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            tx.link.execute(RELEASE, &[&column(self.0)]).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}
