//! SQLite: approvals and their decisions.

use rusqlite::{Connection, OptionalExtension, Row};
use toolcrib_core::store::{ApprovalWithDecision, PendingApproval};
use toolcrib_core::{
    ApprovalId, ApprovalRequest, ApprovalStore, AuditEvent, BoxFuture, CallId, DecisionRecord,
    StoreError,
};

use super::{at_most, audit, text};
use crate::error::Failure;
use crate::json;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const ASK: &str =
    "INSERT INTO approvals (id, owner, run, call, request, batch, setup, requested_at, approves)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING";
const GET: &str = "SELECT request, batch, setup, decision FROM approvals WHERE id = ?1";
const OF_CALL: &str = "SELECT request, batch, setup, decision FROM approvals WHERE call = ?1
    ORDER BY id DESC LIMIT 1";
const OF_OWNER: &str = "SELECT request, batch, setup, decision FROM approvals WHERE owner = ?1
    ORDER BY id DESC LIMIT ?2";
const OF_OWNER_BEFORE: &str = "SELECT request, batch, setup, decision FROM approvals
    WHERE owner = ?1 AND id < ?3 ORDER BY id DESC LIMIT ?2";
const DECIDE: &str = "UPDATE approvals SET decision = ?2 WHERE id = ?1 AND decision IS NULL";
const STANDS: &str = "SELECT request, decision FROM approvals WHERE id = ?1";
const PENDING: &str = "SELECT request FROM approvals WHERE decision IS NULL ORDER BY id";

impl ApprovalStore for SqliteStore {
    fn ask(&self, waiting: PendingApproval) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::PowerLoss, move |conn| ask(conn, &waiting))
    }

    fn get(
        &self,
        id: ApprovalId,
    ) -> BoxFuture<'_, Result<Option<ApprovalWithDecision>, StoreError>> {
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(GET)?;
            let found = statement.query_and_then([id.to_string()], question)?.next();
            found.transpose()
        })
    }

    fn for_call(
        &self,
        call: CallId,
    ) -> BoxFuture<'_, Result<Option<ApprovalWithDecision>, StoreError>> {
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(OF_CALL)?;
            let found = statement.query_and_then([call.to_string()], question)?.next();
            found.transpose()
        })
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ApprovalWithDecision>, StoreError>> {
        let key = (owner.to_owned(), at_most(limit));
        self.read(move |conn| {
            conn.prepare_cached(OF_OWNER)?.query_and_then(key, question)?.collect()
        })
    }

    fn list_before<'a>(
        &'a self,
        owner: &'a str,
        before: ApprovalId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ApprovalWithDecision>, StoreError>> {
        let key = (owner.to_owned(), at_most(limit), before.to_string());
        self.read(move |conn| {
            conn.prepare_cached(OF_OWNER_BEFORE)?.query_and_then(key, question)?.collect()
        })
    }

    fn decide(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>> {
        self.write(Durability::PowerLoss, move |conn| decide(conn, id, &decision))
    }

    fn decide_ahead(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>> {
        // The log is one file: any later sync includes the decision.
        self.write(Durability::ProcessCrash, move |conn| decide(conn, id, &decision))
    }

    fn sync(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::ProcessCrash, sync_log)
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<ApprovalRequest>, StoreError>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(PENDING)?;
            statement.query_and_then([], |row| json::read(text(row, 0)?))?.collect()
        })
    }
}

fn ask(conn: &Connection, waiting: &PendingApproval) -> Result<(), Failure> {
    let PendingApproval { request, batch, setup } = waiting;
    let id = request.id.to_string();
    let added = conn.prepare_cached(ASK)?.execute((
        &id,
        &request.context.owner,
        request.run.map(|run| run.to_string()),
        request.call.to_string(),
        json::write(request)?,
        json::write(batch)?,
        json::write(setup)?,
        request.requested_at,
        request.gated_call().map(|call| call.to_string()),
    ))?;
    match added {
        0 => Err(StoreError::Conflict(id).into()),
        _ => audit::append(conn, &AuditEvent::asked(request)),
    }
}

fn decide(
    conn: &Connection,
    id: ApprovalId,
    decision: &DecisionRecord,
) -> Result<Result<(), DecisionRecord>, Failure> {
    let id = id.to_string();
    let is_first = conn.prepare_cached(DECIDE)?.execute((&id, json::write(decision)?))? > 0;
    let stands: Option<(String, String)> = conn
        .prepare_cached(STANDS)?
        .query_row([&id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (request, first) = stands.ok_or(StoreError::Missing(id))?;
    let request: ApprovalRequest = json::read(&request)?;
    // The audit records both attempts to decide.
    audit::append(conn, &AuditEvent::decided(&request, decision, is_first))?;
    Ok(if is_first { Ok(()) } else { Err(json::read(&first)?) })
}

/// Syncs the write-ahead log, which contains all commits that are not in the database file yet. A
/// commit without changes would sync nothing.
fn sync_log(conn: &Connection) -> Result<(), Failure> {
    let Some(database) = conn.path().filter(|path| !path.is_empty()) else { return Ok(()) };
    let log = std::fs::File::open(format!("{database}-wal")).and_then(|log| log.sync_data());
    Ok(log.map_err(|error| StoreError::Failed(error.to_string()))?)
}

fn question(row: &Row<'_>) -> Result<ApprovalWithDecision, Failure> {
    let waiting = PendingApproval {
        request: json::read(text(row, 0)?)?,
        batch: json::read(text(row, 1)?)?,
        setup: json::read(text(row, 2)?)?,
    };
    let decision: Option<String> = row.get(3)?;
    Ok((waiting, decision.as_deref().map(json::read).transpose()?))
}
