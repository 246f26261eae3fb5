//! Questions to people and their decisions.

use tokio_postgres::Row;
use toolcrib_core::store::{Question, Waiting};
use toolcrib_core::{
    ApprovalId, ApprovalRequest, ApprovalStore, AuditEvent, BoxFuture, CallId, DecisionRecord,
    StoreError,
};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Done, Job, Tx};
use super::super::link::Params;
use super::super::text::column;
use super::{at_most, read, read_or_none, write};

const ASK: &str = "INSERT INTO approvals (id, owner, call, request, batch, setup, approves)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
const GET: &str = "SELECT request, batch, setup, decision FROM approvals WHERE id = $1";
const OF_CALL: &str = "SELECT request, batch, setup, decision FROM approvals WHERE call = $1
    ORDER BY id DESC LIMIT 1";
const OF_OWNER: &str = "SELECT request, batch, setup, decision FROM approvals WHERE owner = $1
    ORDER BY id DESC LIMIT $2";
const OF_OWNER_BEFORE: &str = "SELECT request, batch, setup, decision FROM approvals
    WHERE owner = $1 AND id < $3 ORDER BY id DESC LIMIT $2";
/// Of two that decide at once, the second waits for the first, and finds it decided.
const DECIDE: &str = "UPDATE approvals SET decision = $2 WHERE id = $1 AND decision IS NULL
    RETURNING request";
const FIRST: &str = "SELECT request, decision FROM approvals WHERE id = $1";
/// Ids are ordered by time.
const PENDING: &str = "SELECT request FROM approvals WHERE decision IS NULL ORDER BY id";

impl ApprovalStore for PostgresStore {
    fn ask(&self, waiting: Waiting) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Ask(waiting))
    }

    fn get(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<Question>, StoreError>> {
        Box::pin(async move { self.one(GET, &[&id.to_string()], question).await })
    }

    fn of_call(&self, call: CallId) -> BoxFuture<'_, Result<Option<Question>, StoreError>> {
        Box::pin(async move { self.one(OF_CALL, &[&call.to_string()], question).await })
    }

    fn decide(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>> {
        self.write(Decide { id, decision })
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<ApprovalRequest>, StoreError>> {
        Box::pin(async move { self.all(PENDING, &[], |row| read(row, 0)).await })
    }

    fn questions<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Question>, StoreError>> {
        Box::pin(
            async move { self.all(OF_OWNER, &[&column(owner), &at_most(limit)], question).await },
        )
    }

    fn questions_before<'a>(
        &'a self,
        owner: &'a str,
        before: ApprovalId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Question>, StoreError>> {
        Box::pin(async move {
            let (owner, before) = (column(owner), before.to_string());
            self.all(OF_OWNER_BEFORE, &[&owner, &at_most(limit), &before], question).await
        })
    }
}

struct Ask(Waiting);

impl Job for Ask {
    type Answer = ();

    fn begins_with(&self) -> Option<&'static str> {
        Some(ASK)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<Done<()>, Failure>> {
        Box::pin(async move {
            let Waiting { request, batch, setup } = &self.0;
            let (id, owner) = (request.id.to_string(), column(&request.context.owner));
            let call = request.call.to_string();
            let (asked, batch, setup) = (write(request)?, write(batch)?, write(setup)?);
            let approves = request.approves().map(|call| call.to_string());
            let row: Params<'_> = &[&id, &owner, &call, &asked, &batch, &setup, &approves];
            match tx.link.execute(ASK, row).await? {
                0 => Err(StoreError::Conflict(id).into()),
                _ => Ok(Done::with((), AuditEvent::asked(request))),
            }
        })
    }
}

struct Decide {
    id: ApprovalId,
    decision: DecisionRecord,
}

impl Job for Decide {
    type Answer = Result<(), DecisionRecord>;

    fn begins_with(&self) -> Option<&'static str> {
        Some(DECIDE)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<Done<Self::Answer>, Failure>> {
        Box::pin(async move {
            let (id, decision) = (self.id.to_string(), write(&self.decision)?);
            if let Some(row) = tx.link.first(DECIDE, &[&id, &decision]).await? {
                let event = AuditEvent::decided(&read(&row, 0)?, &self.decision, true);
                return Ok(Done::with(Ok(()), event));
            }
            let Some(row) = tx.link.first(FIRST, &[&id]).await? else {
                return Err(StoreError::Missing(id).into());
            };
            let event = AuditEvent::decided(&read(&row, 0)?, &self.decision, false);
            let first: Option<DecisionRecord> = read_or_none(&row, 1)?;
            Ok(Done::with(Err(first.ok_or(StoreError::Missing(id))?), event))
        })
    }
}

fn question(row: &Row) -> Result<Question, Failure> {
    let waiting = Waiting { request: read(row, 0)?, batch: read(row, 1)?, setup: read(row, 2)? };
    Ok((waiting, read_or_none(row, 3)?))
}
