//! Batches that were accepted before they run.

use tokio_postgres::Row;
use toolcrib_core::{Acceptance, AcceptedBatch, AuditEvent, BatchId, BoxFuture, StoreError};

use super::super::error::Failure;
use super::super::job::{Done, Job, Tx};
use super::super::text;
use super::recover::{FENCE, epochs};
use super::{column, number, read, write};

/// One that meets another of the same key in the making waits for what becomes of that.
const ACCEPT: &str = "INSERT INTO batches (id, owner, key, fingerprint, body, calls, epoch)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
const OF_KEY: &str = "SELECT body, epoch, works(epoch) FROM batches WHERE owner = $1 AND key = $2";
/// The one of a call, while it is not done.
pub(super) const OF_CALL: &str =
    "SELECT body, epoch FROM batches WHERE NOT is_done AND $1 = ANY (calls)";
/// Whoever has a batch, if they are gone.
const GONE: &str = "SELECT epoch FROM workers WHERE NOT works(epoch)
    AND epoch = (SELECT epoch FROM batches WHERE id = $1) FOR UPDATE SKIP LOCKED";
const TAKE: &str = "UPDATE batches SET epoch = $2 WHERE id = $1 AND NOT works(epoch)
    AND NOT EXISTS (SELECT FROM workers WHERE workers.epoch = batches.epoch AND state = 'working')";
const DONE: &str = "UPDATE batches SET is_done = true WHERE id = $1";

pub(super) struct Accept(pub(super) AcceptedBatch);

impl Job for Accept {
    type Answer = Acceptance;

    fn epoch(&self) -> Option<u64> {
        Some(self.0.epoch)
    }

    fn begins_with(&self) -> Option<&'static str> {
        Some(ACCEPT)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<Done<Acceptance>, Failure>> {
        Box::pin(async move {
            let (id, body) = (self.0.id.to_string(), write(&self.0)?);
            let owner = text::column(&self.0.batch.context.owner);
            let key = self.0.key.as_ref().map(|key| text::column(&key.key));
            let fingerprint = self.0.key.as_ref().map(|key| text::column(&key.fingerprint));
            let calls: Vec<String> = self.0.batch.calls.iter().map(|c| c.id.to_string()).collect();
            let epoch = column(self.0.epoch);
            let row = tx
                .link
                .execute(ACCEPT, &[&id, &owner, &key, &fingerprint, &body, &calls, &epoch])
                .await?;
            if row > 0 {
                return Ok(Done::with(Acceptance::New, AuditEvent::accepted(&self.0)));
            }
            let first = tx.link.first(OF_KEY, &[&owner, &key]).await?;
            Ok(Done::quiet(self.known(&first.ok_or(StoreError::Conflict(id))?)?))
        })
    }
}

impl Accept {
    /// The one that was accepted before under this key.
    fn known(&self, row: &Row) -> Result<Acceptance, Failure> {
        let first = batch(row, 0, 1)?;
        let fingerprint = |batch: &AcceptedBatch| batch.key.as_ref().map(|k| k.fingerprint.clone());
        if fingerprint(&first) != fingerprint(&self.0) {
            let key = self.0.key.as_ref().map(|key| key.key.clone());
            return Err(StoreError::Conflict(key.unwrap_or_default()).into());
        }
        Ok(Acceptance::Known { first: Box::new(first), is_worked_on: row.try_get(2)? })
    }
}

/// A batch; whoever has it now stands in a column of its own.
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

    fn begins_with(&self) -> Option<&'static str> {
        None
    }

    /// From here on the one who had it is fenced off: one that only stood still must not go on with what somebody else does now.
    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<Done<bool>, Failure>> {
        Box::pin(async move {
            let key = (self.id.to_string(), column(self.epoch));
            let gone = epochs(&tx.link.query(GONE, &[&key.0]).await?)?;
            tx.link.query(FENCE, &[&gone]).await?;
            Ok(Done::quiet(tx.link.execute(TAKE, &[&key.0, &key.1]).await? > 0))
        })
    }
}

pub(super) struct MarkDone(pub(super) BatchId);

impl Job for MarkDone {
    type Answer = ();

    fn begins_with(&self) -> Option<&'static str> {
        Some(DONE)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<Done<()>, Failure>> {
        Box::pin(async move {
            let id = self.0.to_string();
            match tx.link.execute(DONE, &[&id]).await? {
                0 => Err(StoreError::Missing(id).into()),
                _ => Ok(Done::quiet(())),
            }
        })
    }
}
