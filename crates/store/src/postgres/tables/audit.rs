//! Postgres: one audit chain per writing store, and signed checkpoints.

use std::future::ready;

use tokio_postgres::Row;
use toolcrib_core::{
    AuditCheckpoint, AuditEvent, AuditRow, AuditStore, BoxFuture, CallId, StoreError,
};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::{at_most, column, number};

const CHAINS: &str = "SELECT chain, seq FROM chains WHERE seq > 0 ORDER BY chain";
/// Record numbers start at 1. A read from the beginning also returns rows that were inserted before
/// it, with number 0, so that verification reports them.
const RECORDS: &str = "SELECT chain, greatest(seq, 0), text, hash FROM audit
    WHERE chain = $1 AND seq > CASE $2::bigint WHEN 0 THEN -9223372036854775808 ELSE $2::bigint END
    ORDER BY seq LIMIT $3";
/// Chains are numbered in the order in which their stores started; within a chain the order is
/// certain. Rows with a number below 1 are forged and are not evidence.
const RECORDS_OF: &str = "SELECT chain, seq, text, hash FROM audit
    WHERE call = $1 AND chain >= 0 AND seq >= 1 ORDER BY chain, seq";
const PUT_CHECKPOINT: &str = "INSERT INTO checkpoints (chain, seq, head, at, key, signature)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (chain, seq)
    DO UPDATE SET head = excluded.head, at = excluded.at, key = excluded.key, signature = excluded.signature";
const CHECKPOINTS: &str = "SELECT chain, seq, head, at, key, signature FROM checkpoints
    WHERE chain = $1 ORDER BY seq";

impl AuditStore for PostgresStore {
    fn append(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Append(event))
    }

    fn chains(&self) -> BoxFuture<'_, Result<Vec<(u64, u64)>, StoreError>> {
        Box::pin(async move {
            self.fetch_all(CHAINS, &[], |row| Ok((number(row, 0)?, number(row, 1)?))).await
        })
    }

    fn records(
        &self,
        chain: u64,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>> {
        let (chain, after, limit) = (column(chain), column(after), at_most(limit));
        Box::pin(async move { self.fetch_all(RECORDS, &[&chain, &after, &limit], record).await })
    }

    fn records_of(&self, call: CallId) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>> {
        Box::pin(async move { self.fetch_all(RECORDS_OF, &[&call.to_string()], record).await })
    }

    fn checkpoint_now(&self) -> BoxFuture<'_, Result<Option<AuditCheckpoint>, StoreError>> {
        self.sign_checkpoint()
    }

    fn checkpoints(&self, chain: u64) -> BoxFuture<'_, Result<Vec<AuditCheckpoint>, StoreError>> {
        Box::pin(async move { self.fetch_all(CHECKPOINTS, &[&column(chain)], made).await })
    }
}

struct Append(AuditEvent);

impl Job for Append {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(super::empty_job::NOTHING)
    }

    fn run<'a>(&'a self, _: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(ready(Ok(JobOutput::audited((), self.0.clone()))))
    }
}

/// Stores a checkpoint of this store's chain.
pub(in super::super) struct PutCheckpoint(pub(in super::super) AuditCheckpoint);

impl Job for PutCheckpoint {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(PUT_CHECKPOINT)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let AuditCheckpoint { chain, seq, head, at, key, signature } = &self.0;
            let (chain, seq) = (column(*chain), column(*seq));
            tx.link.execute(PUT_CHECKPOINT, &[&chain, &seq, head, at, key, signature]).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}

fn record(row: &Row) -> Result<AuditRow, Failure> {
    Ok(AuditRow {
        chain: number(row, 0)?,
        seq: number(row, 1)?,
        text: row.try_get(2)?,
        hash: row.try_get(3)?,
    })
}

fn made(row: &Row) -> Result<AuditCheckpoint, Failure> {
    Ok(AuditCheckpoint {
        chain: number(row, 0)?,
        seq: number(row, 1)?,
        head: row.try_get(2)?,
        at: row.try_get(3)?,
        key: row.try_get(4)?,
        signature: row.try_get(5)?,
    })
}
