//! Postgres: recovery of the open calls of dead workers, in one transaction.

use tokio_postgres::Row;
use toolcrib_core::{AuditEvent, BoxFuture, CallId, Intent, Recovered, Settlement};

use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::calls::{call_row, columns};
use super::column;
use super::settle::Settle;

/// Marks leases that are found expired. Only a holder that does not renew its lease in the
/// following seconds is dead, see `works` in the schema. A worker that is currently writing is
/// skipped.
const SUSPECT: &str = "UPDATE workers SET suspected_at = clock_timestamp() WHERE epoch IN (
        SELECT epoch FROM workers WHERE state = 'working' AND expires_at <= clock_timestamp()
            AND (suspected_at IS NULL OR suspected_at < expires_at)
        ORDER BY epoch FOR UPDATE SKIP LOCKED
    )";
/// Dead workers with open work. A worker that is currently writing under its claim is alive and
/// skipped, as are workers that another process is recovering.
const LOCK: &str = "SELECT epoch FROM workers WHERE NOT works(epoch) AND epoch = ANY(
        SELECT epoch FROM calls WHERE outcome IS NULL UNION SELECT epoch FROM batches WHERE NOT is_done
    ) ORDER BY epoch FOR UPDATE SKIP LOCKED";
/// Fences the dead workers, however late they resume. The condition is checked again, because a
/// lease may have been renewed before the lock was taken.
pub(super) const FENCE: &str = "UPDATE workers SET state = 'fenced' WHERE epoch = ANY($1) AND NOT works(epoch) RETURNING epoch";
/// A repeatable call stays open for the worker that continues its run or batch. A run that is not
/// stored, or that has ended, cannot be continued.
const LEFT: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM calls WHERE outcome IS NULL AND epoch = ANY($1) AND NOT (is_repeatable AND (
        EXISTS (SELECT FROM runs WHERE runs.id = calls.run AND runs.status IN ('running', 'paused'))
        OR id = ANY(SELECT unnest(calls) FROM batches WHERE NOT is_done)
    )) ORDER BY id FOR UPDATE"
);

pub(super) struct Recover {
    pub(super) epoch: u64,
    pub(super) now_ms: i64,
    /// Claims that this process has had and not released: if one has ended, this process could not
    /// renew it.
    pub(super) own: Vec<i64>,
}

impl Job for Recover {
    type Answer = Recovered;

    fn epoch(&self) -> Option<u64> {
        Some(self.epoch)
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        None
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<Recovered>, Failure>> {
        Box::pin(async move {
            tx.link.execute(SUSPECT, &[]).await?;
            let gone = epochs(&tx.link.query(LOCK, &[]).await?)?;
            let gone = epochs(&tx.link.query(FENCE, &[&gone]).await?)?;
            let mut found = Recovered::default();
            if gone.is_empty() {
                return Ok(JobOutput::unaudited(found));
            }
            let mut events = Vec::new();
            for row in tx.link.query(LEFT, &[&gone]).await? {
                let (call, repeatable, event) = self.end(tx, &row).await?;
                events.extend(event);
                if repeatable { found.interrupted.push(call) } else { found.unknown.push(call) }
            }
            Ok(JobOutput { answer: found, events })
        })
    }
}

impl Recover {
    /// Ends a call in the place of its dead worker, with an unknown result.
    async fn end(
        &self,
        tx: &Tx<'_>,
        row: &Row,
    ) -> Result<(CallId, bool, Option<AuditEvent>), Failure> {
        let row = call_row(row)?;
        let (call, epoch) = (row.facts.call, row.epoch);
        let started_at = row.started_at.unwrap_or(row.facts.received_at);
        let intent = Intent { facts: row.facts, started_at, epoch };
        let repeatable = intent.is_repeatable();
        let ended = match self.own.contains(&column(epoch)) {
            true => Settlement::from_outage(intent, self.now_ms, epoch),
            false => Settlement::from_crash(intent, self.now_ms, epoch),
        };
        let ended = Settle(ended);
        let event = ended.write(tx).await?.then(|| AuditEvent::settled(&ended.0.record));
        Ok((call, repeatable, event))
    }
}

pub(super) fn epochs(rows: &[Row]) -> Result<Vec<i64>, Failure> {
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
