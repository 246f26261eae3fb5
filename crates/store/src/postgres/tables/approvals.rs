//! Postgres: approvals and their decisions.

use tokio_postgres::Row;
use toolcrib_core::store::{ApprovalWithDecision, PendingApproval};
use toolcrib_core::{
    ApprovalId, ApprovalRequest, ApprovalStore, AuditEvent, BoxFuture, CallId, DecisionRecord,
    StoreError,
};

use super::super::PostgresStore;
use super::super::connection::Params;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
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
/// Of two concurrent decisions, the second waits for the first and finds the approval decided.
const DECIDE: &str = "UPDATE approvals SET decision = $2 WHERE id = $1 AND decision IS NULL
    RETURNING request";
const FIRST: &str = "SELECT request, decision FROM approvals WHERE id = $1";
const PENDING: &str = "SELECT request FROM approvals WHERE decision IS NULL ORDER BY id";

impl ApprovalStore for PostgresStore {
    fn ask(&self, waiting: PendingApproval) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Ask(waiting))
    }

    fn get(
        &self,
        id: ApprovalId,
    ) -> BoxFuture<'_, Result<Option<ApprovalWithDecision>, StoreError>> {
        Box::pin(async move { self.fetch_optional(GET, &[&id.to_string()], question).await })
    }

    fn for_call(
        &self,
        call: CallId,
    ) -> BoxFuture<'_, Result<Option<ApprovalWithDecision>, StoreError>> {
        Box::pin(async move { self.fetch_optional(OF_CALL, &[&call.to_string()], question).await })
    }

    fn decide(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>> {
        self.write(Decide { id, decision })
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<ApprovalRequest>, StoreError>> {
        Box::pin(async move { self.fetch_all(PENDING, &[], |row| read(row, 0)).await })
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ApprovalWithDecision>, StoreError>> {
        Box::pin(async move {
            self.fetch_all(OF_OWNER, &[&escape(owner), &at_most(limit)], question).await
        })
    }

    fn list_before<'a>(
        &'a self,
        owner: &'a str,
        before: ApprovalId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ApprovalWithDecision>, StoreError>> {
        Box::pin(async move {
            let (owner, before) = (escape(owner), before.to_string());
            self.fetch_all(OF_OWNER_BEFORE, &[&owner, &at_most(limit), &before], question).await
        })
    }
}

struct Ask(PendingApproval);

impl Job for Ask {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(ASK)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let PendingApproval { request, batch, setup } = &self.0;
            let (id, owner) = (request.id.to_string(), escape(&request.context.owner));
            let call = request.call.to_string();
            let (asked, batch, setup) = (write(request)?, write(batch)?, write(setup)?);
            let approves = request.gated_call().map(|call| call.to_string());
            let row: Params<'_> = &[&id, &owner, &call, &asked, &batch, &setup, &approves];
            match tx.link.execute(ASK, row).await? {
                0 => Err(StoreError::Conflict(id).into()),
                _ => Ok(JobOutput::audited((), AuditEvent::asked(request))),
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

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(DECIDE)
    }

    fn run<'a>(
        &'a self,
        tx: &'a Tx<'_>,
    ) -> BoxFuture<'a, Result<JobOutput<Self::Answer>, Failure>> {
        Box::pin(async move {
            let (id, decision) = (self.id.to_string(), write(&self.decision)?);
            if let Some(row) = tx.link.query_optional(DECIDE, &[&id, &decision]).await? {
                let event = AuditEvent::decided(&read(&row, 0)?, &self.decision, true);
                return Ok(JobOutput::audited(Ok(()), event));
            }
            let Some(row) = tx.link.query_optional(FIRST, &[&id]).await? else {
                return Err(StoreError::Missing(id).into());
            };
            let event = AuditEvent::decided(&read(&row, 0)?, &self.decision, false);
            let first: Option<DecisionRecord> = read_or_none(&row, 1)?;
            Ok(JobOutput::audited(Err(first.ok_or(StoreError::Missing(id))?), event))
        })
    }
}

fn question(row: &Row) -> Result<ApprovalWithDecision, Failure> {
    let waiting =
        PendingApproval { request: read(row, 0)?, batch: read(row, 1)?, setup: read(row, 2)? };
    Ok((waiting, read_or_none(row, 3)?))
}
