//! Postgres: the outcome of a call.

use toolcrib_core::{AuditEvent, BoxFuture, Effect, Settlement, StoreError};

use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::calls::IndexColumns;
use super::{column, number, write};
use crate::writer::Durability;

/// A call that never started has no row yet. A started call accepts the outcome of its own worker
/// and attempt only. A repeatable call that a dead worker left open may be refused before its next
/// attempt begins.
const SETTLE: &str = "INSERT INTO calls AS c
    (id, owner, tool, operation, agent, conversation, run, received_at, started_at, epoch, is_repeatable, facts,
        outcome, is_error, attempts, run_nanos, ended_at, ending, result, parent)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
    ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, tool = excluded.tool,
        operation = excluded.operation, agent = excluded.agent, conversation = excluded.conversation,
        run = excluded.run, received_at = excluded.received_at, is_repeatable = excluded.is_repeatable, facts = excluded.facts,
        outcome = excluded.outcome, is_error = excluded.is_error, attempts = excluded.attempts, run_nanos = excluded.run_nanos,
        ended_at = excluded.ended_at, ending = excluded.ending, result = excluded.result, epoch = excluded.epoch,
        started_at = excluded.started_at, parent = excluded.parent
    WHERE c.outcome IS NULL AND (
        (c.epoch = excluded.epoch AND c.started_at IS NOT DISTINCT FROM excluded.started_at)
        OR (excluded.started_at IS NULL AND c.is_repeatable AND NOT works(c.epoch))
    )";
const STANDS: &str = "SELECT epoch, outcome IS NULL FROM calls WHERE id = $1";

pub(super) struct Settle(pub(super) Settlement);

impl Settle {
    fn is_repeatable(&self) -> bool {
        self.0.record.facts.effect.is_some_and(Effect::is_repeatable)
    }
}

impl Job for Settle {
    type Answer = ();

    /// A call that never started has changed nothing.
    fn durability(&self) -> Durability {
        let changes_nothing = self.0.record.started_at.is_none() || self.is_repeatable();
        if changes_nothing { Durability::ProcessCrash } else { Durability::PowerLoss }
    }

    fn epoch(&self) -> Option<u64> {
        Some(self.0.record.epoch)
    }

    /// A call that was refused before it started has changed nothing: its caller gets the refusal
    /// within seconds, and the engine offers the record again later.
    fn outlives_outage(&self) -> bool {
        self.0.record.started_at.is_some()
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(SETTLE)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            if self.write(tx).await? {
                return Ok(JobOutput::audited((), AuditEvent::settled(&self.0.record)));
            }
            Err(self.refused(tx).await?.into())
        })
    }
}

impl Settle {
    /// Writes the outcome; `false` if the call has one already or belongs to another worker.
    pub(super) async fn write(&self, tx: &Tx<'_>) -> Result<bool, Failure> {
        let Settlement { record, outcome } = &self.0;
        let (facts, end) = (&record.facts, &record.end);
        let IndexColumns { id, owner, tool, operation, agent, conversation, run, parent } =
            IndexColumns::from_facts(facts);
        let (body, ending) = (write(facts)?, write(end)?);
        let settled = tx
            .link
            .execute(
                SETTLE,
                &[
                    &id,
                    &owner,
                    &tool,
                    &operation,
                    &agent,
                    &conversation,
                    &run,
                    &facts.received_at,
                    &record.started_at,
                    &column(record.epoch),
                    &self.is_repeatable(),
                    &body,
                    &end.outcome.as_str(),
                    &end.error_type.is_some(),
                    &i64::from(end.attempts),
                    &column(end.run_nanos),
                    &end.ended_at,
                    &ending,
                    outcome,
                    &parent,
                ],
            )
            .await?;
        Ok(settled > 0)
    }

    /// The error for an outcome that was not written.
    async fn refused(&self, tx: &Tx<'_>) -> Result<StoreError, Failure> {
        let id = self.0.record.facts.call.to_string();
        let Some(row) = tx.link.query_optional(STANDS, &[&id]).await? else {
            return Ok(StoreError::Missing(id));
        };
        let (current, is_open): (u64, bool) = (number(&row, 0)?, row.try_get(1)?);
        let claimed = self.0.record.epoch;
        Ok(if is_open && current != claimed {
            StoreError::Fenced { current, claimed }
        } else {
            StoreError::Conflict(id)
        })
    }
}
