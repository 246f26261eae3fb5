//! Postgres: the call store, intents, and the row format of calls.

use tokio_postgres::Row;
use toolcrib_core::{
    Acceptance, AcceptedBatch, AuditEvent, BatchId, BoxFuture, CallDetails, CallId, CallRow,
    CallStore, Intent, Recovered, Settlement, StoreError, StoredCall, WorkerState,
};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape;
use super::batches::{self, ABANDONED, Accept, MarkDone, Shorten, Take};
use super::recovery::Recover;
use super::settle::Settle;
use super::{column, number, read, read_or_none, write};
use crate::writer::Durability;

/// The columns that [`call_row`] reads, in its order.
macro_rules! columns {
    () => {
        "facts, started_at, epoch, ending"
    };
}
pub(super) use columns;

/// Replaces an existing row only for the next attempt of a repeatable call whose worker is dead.
const BEGIN: &str = "INSERT INTO calls AS c
    (id, owner, tool, operation, agent, conversation, run, received_at, started_at, epoch, is_repeatable, facts, parent)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
    ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, tool = excluded.tool,
        operation = excluded.operation, agent = excluded.agent, conversation = excluded.conversation,
        run = excluded.run, received_at = excluded.received_at, started_at = excluded.started_at,
        epoch = excluded.epoch, is_repeatable = excluded.is_repeatable, facts = excluded.facts,
        parent = excluded.parent
    WHERE c.outcome IS NULL AND c.is_repeatable AND NOT works(c.epoch)";
/// A suspended call has not begun. Only repeatable calls are suspended.
const PUT_ASIDE: &str =
    "DELETE FROM calls WHERE id = $1 AND epoch = $2 AND outcome IS NULL AND is_repeatable";
const CALL: &str = concat!(
    "SELECT ",
    columns!(),
    ", result, outcome IS NULL AND works(epoch) FROM calls WHERE id = $1"
);
const OPEN: &str = concat!("SELECT ", columns!(), " FROM calls WHERE outcome IS NULL ORDER BY id");

impl CallStore for PostgresStore {
    fn release_former(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.release_former_epochs())
    }

    fn claim(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.claim_epoch())
    }

    fn release(&self, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.release_epoch(epoch))
    }

    fn worker(&self, epoch: u64) -> BoxFuture<'_, Result<WorkerState, StoreError>> {
        Box::pin(self.worker_state(epoch))
    }

    fn accept(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>> {
        self.write(Accept(batch))
    }

    fn take_batch(&self, id: BatchId, epoch: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.write(Take { id, epoch })
    }

    fn batch_of(&self, call: CallId) -> BoxFuture<'_, Result<Option<AcceptedBatch>, StoreError>> {
        let read = |row: &Row| batches::batch(row, 0, 1);
        Box::pin(
            async move { self.fetch_optional(batches::OF_CALL, &[&call.to_string()], read).await },
        )
    }

    fn finish_batch(&self, id: BatchId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(MarkDone(id))
    }

    fn shorten_batch(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Shorten(batch))
    }

    fn begin(&self, intent: Intent) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Begin(intent))
    }

    fn suspend(&self, call: CallId, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(PutAside { call, epoch })
    }

    fn settle(&self, settlement: Settlement) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Settle(settlement))
    }

    fn call(&self, call: CallId) -> BoxFuture<'_, Result<Option<StoredCall>, StoreError>> {
        Box::pin(async move { self.fetch_optional(CALL, &[&call.to_string()], stored).await })
    }

    fn abandoned_batches(&self) -> BoxFuture<'_, Result<Vec<AcceptedBatch>, StoreError>> {
        Box::pin(
            async move { self.fetch_all(ABANDONED, &[], |row| batches::batch(row, 0, 1)).await },
        )
    }

    fn open_calls(&self) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        Box::pin(async move { self.fetch_all(OPEN, &[], call_row).await })
    }

    fn recover(&self, epoch: u64, now_ms: i64) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        let own = self.claimed_epochs();
        self.write(Recover { epoch, now_ms, own })
    }
}

/// The indexed columns of a call.
pub(super) struct IndexColumns {
    pub(super) id: String,
    pub(super) owner: String,
    pub(super) tool: Option<String>,
    pub(super) operation: Option<String>,
    pub(super) agent: String,
    pub(super) conversation: String,
    pub(super) run: Option<String>,
    pub(super) parent: Option<String>,
}

impl IndexColumns {
    pub(super) fn from_facts(facts: &CallDetails) -> Self {
        let own = |word: &str| text_escape::escape(word).into_owned();
        Self {
            id: facts.call.to_string(),
            owner: own(&facts.context.owner),
            tool: facts.tool.as_ref().map(|tool| own(tool.as_str())),
            operation: facts.operation.as_deref().map(own),
            agent: own(&facts.context.agent),
            conversation: own(&facts.context.conversation),
            run: facts.run.map(|run| run.to_string()),
            parent: facts.parent.map(|call| call.to_string()),
        }
    }
}

struct PutAside {
    call: CallId,
    epoch: u64,
}

impl Job for PutAside {
    type Answer = ();

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn epoch(&self) -> Option<u64> {
        Some(self.epoch)
    }

    fn outlives_outage(&self) -> bool {
        true
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(PUT_ASIDE)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let key = (self.call.to_string(), column(self.epoch));
            tx.link.execute(PUT_ASIDE, &[&key.0, &key.1]).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}

struct Begin(Intent);

impl Job for Begin {
    type Answer = ();

    fn durability(&self) -> Durability {
        if self.0.is_repeatable() { Durability::ProcessCrash } else { Durability::PowerLoss }
    }

    fn epoch(&self) -> Option<u64> {
        Some(self.0.epoch)
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(BEGIN)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let Intent { facts, started_at, epoch } = &self.0;
            let IndexColumns { id, owner, tool, operation, agent, conversation, run, parent } =
                IndexColumns::from_facts(facts);
            let (is_repeatable, body) = (self.0.is_repeatable(), write(facts)?);
            let begun = tx
                .link
                .execute(
                    BEGIN,
                    &[
                        &id,
                        &owner,
                        &tool,
                        &operation,
                        &agent,
                        &conversation,
                        &run,
                        &facts.received_at,
                        started_at,
                        &column(*epoch),
                        &is_repeatable,
                        &body,
                        &parent,
                    ],
                )
                .await?;
            match (begun, is_repeatable) {
                (0, _) => Err(StoreError::Conflict(id).into()),
                (_, true) => Ok(JobOutput::unaudited(())),
                (_, false) => Ok(JobOutput::audited((), AuditEvent::started(&self.0))),
            }
        })
    }
}

/// A call, with its end if it has ended.
pub(super) fn call_row(row: &Row) -> Result<CallRow, Failure> {
    Ok(CallRow {
        facts: read(row, 0)?,
        started_at: row.try_get(1)?,
        epoch: number(row, 2)?,
        end: read_or_none(row, 3)?,
    })
}

fn stored(row: &Row) -> Result<StoredCall, Failure> {
    Ok(StoredCall {
        row: call_row(row)?,
        outcome: read_or_none(row, 4)?,
        is_owner_alive: row.try_get(5)?,
        earlier: Vec::new(),
    })
}
