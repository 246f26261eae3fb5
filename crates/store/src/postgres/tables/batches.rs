//! Postgres: accepted batches.

use tokio_postgres::Row;
use toolcrib_core::{Acceptance, AcceptedBatch, AuditEvent, BatchId, BoxFuture, StoreError};

use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape;
use super::recovery::{FENCE, epochs};
use super::{column, number, read, write};

/// A concurrent insert of the same key waits for the first one to end.
const ACCEPT: &str = "INSERT INTO batches (id, owner, key, fingerprint, body, calls, epoch)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
const OF_KEY: &str = "SELECT body, epoch, works(epoch) FROM batches WHERE owner = $1 AND key = $2";
/// The open batch of a call.
pub(super) const OF_CALL: &str =
    "SELECT body, epoch FROM batches WHERE NOT is_done AND $1 = ANY (calls)";
/// Open batches of dead workers.
pub(super) const ABANDONED: &str =
    "SELECT body, epoch FROM batches WHERE NOT is_done AND NOT works(epoch) ORDER BY id";
/// The worker of a batch, if it is dead.
const GONE: &str = "SELECT epoch FROM workers WHERE NOT works(epoch)
    AND epoch = (SELECT epoch FROM batches WHERE id = $1) FOR UPDATE SKIP LOCKED";
const TAKE: &str = "UPDATE batches SET epoch = $2 WHERE id = $1 AND NOT works(epoch)
    AND NOT EXISTS (SELECT FROM workers WHERE workers.epoch = batches.epoch AND state = 'working')";
const DONE: &str = "UPDATE batches SET is_done = true WHERE id = $1";
const SHORTEN: &str = "UPDATE batches SET body = $2 WHERE id = $1 AND is_done";

pub(super) struct Accept(pub(super) AcceptedBatch);

impl Job for Accept {
    type Answer = Acceptance;

    fn epoch(&self) -> Option<u64> {
        Some(self.0.epoch)
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(ACCEPT)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<Acceptance>, Failure>> {
        Box::pin(async move {
            let (id, body) = (self.0.id.to_string(), write(&self.0)?);
            let owner = text_escape::escape(&self.0.batch.context.owner);
            let key = self.0.key.as_ref().map(|key| text_escape::escape(&key.key));
            let fingerprint = self.0.key.as_ref().map(|key| text_escape::escape(&key.fingerprint));
            let calls: Vec<String> = self.0.batch.calls.iter().map(|c| c.id.to_string()).collect();
            let epoch = column(self.0.epoch);
            let row = tx
                .link
                .execute(ACCEPT, &[&id, &owner, &key, &fingerprint, &body, &calls, &epoch])
                .await?;
            if row > 0 {
                return Ok(JobOutput::audited(Acceptance::New, AuditEvent::accepted(&self.0)));
            }
            let first = tx.link.query_optional(OF_KEY, &[&owner, &key]).await?;
            Ok(JobOutput::unaudited(self.known(&first.ok_or(StoreError::Conflict(id))?)?))
        })
    }
}

impl Accept {
    /// Returns the batch that was accepted earlier under this key.
    fn known(&self, row: &Row) -> Result<Acceptance, Failure> {
        let first = batch(row, 0, 1)?;
        let fingerprint = |batch: &AcceptedBatch| batch.key.as_ref().map(|k| k.fingerprint.clone());
        if fingerprint(&first) != fingerprint(&self.0) {
            let key = self.0.key.as_ref().map(|key| key.key.clone());
            return Err(StoreError::Conflict(key.unwrap_or_default()).into());
        }
        Ok(Acceptance::Known { first: Box::new(first), is_owner_alive: row.try_get(2)? })
    }
}

/// Reads a batch. Its current worker is in a separate column.
pub(super) fn batch(row: &Row, body: usize, epoch: usize) -> Result<AcceptedBatch, Failure> {
    Ok(AcceptedBatch { epoch: number(row, epoch)?, ..read(row, body)? })
}

pub(super) struct Take {
    pub(super) id: BatchId,
    pub(super) epoch: u64,
}

impl Job for Take {
    type Answer = bool;

    fn epoch(&self) -> Option<u64> {
        Some(self.epoch)
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    /// Fences the former worker: if it was only paused, it must not continue work that another
    /// worker took over.
    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<bool>, Failure>> {
        Box::pin(async move {
            let key = (self.id.to_string(), column(self.epoch));
            let gone = epochs(&tx.link.query(GONE, &[&key.0]).await?)?;
            tx.link.query(FENCE, &[&gone]).await?;
            Ok(JobOutput::unaudited(tx.link.execute(TAKE, &[&key.0, &key.1]).await? > 0))
        })
    }
}

pub(super) struct MarkDone(pub(super) BatchId);

impl Job for MarkDone {
    type Answer = ();

    fn outlives_outage(&self) -> bool {
        true
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(DONE)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let id = self.0.to_string();
            match tx.link.execute(DONE, &[&id]).await? {
                0 => Err(StoreError::Missing(id).into()),
                _ => Ok(JobOutput::unaudited(())),
            }
        })
    }
}

pub(super) struct Shorten(pub(super) AcceptedBatch);

impl Job for Shorten {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(SHORTEN)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let (id, body) = (self.0.id.to_string(), write(&self.0)?);
            tx.link.execute(SHORTEN, &[&id, &body]).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}
