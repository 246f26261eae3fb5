//! Questions to people and their decisions.

use rusqlite::{Connection, OptionalExtension, Row};
use toolcrib_core::store::{Question, Waiting};
use toolcrib_core::{
    ApprovalId, ApprovalRequest, ApprovalStore, BoxFuture, DecisionRecord, StoreError,
};

use super::text;
use crate::error::Failure;
use crate::json;
use crate::store::SqliteStore;
use crate::writer::Survives;

const ASK: &str = "INSERT INTO approvals (id, owner, run, request, batch, requested_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING";
const GET: &str = "SELECT request, batch, decision FROM approvals WHERE id = ?1";
const DECIDE: &str = "UPDATE approvals SET decision = ?2 WHERE id = ?1 AND decision IS NULL";
const FIRST: &str = "SELECT decision FROM approvals WHERE id = ?1";
/// Ids are ordered by time.
const PENDING: &str = "SELECT request FROM approvals WHERE decision IS NULL ORDER BY id";

impl ApprovalStore for SqliteStore {
    fn ask(&self, waiting: Waiting) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Survives::PowerLoss, move |conn| ask(conn, &waiting))
    }

    fn get(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<Question>, StoreError>> {
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(GET)?;
            let found = statement.query_and_then([id.to_string()], question)?.next();
            found.transpose()
        })
    }

    fn decide(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>> {
        self.write(Survives::PowerLoss, move |conn| decide(conn, id, &decision))
    }

    fn pending(&self) -> BoxFuture<'_, Result<Vec<ApprovalRequest>, StoreError>> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(PENDING)?;
            statement.query_and_then([], |row| json::read(text(row, 0)?))?.collect()
        })
    }
}

fn ask(conn: &Connection, waiting: &Waiting) -> Result<(), Failure> {
    let Waiting { request, batch } = waiting;
    let id = request.id.to_string();
    let added = conn.prepare_cached(ASK)?.execute((
        &id,
        &request.context.owner,
        request.run.map(|run| run.to_string()),
        json::write(request)?,
        json::write(batch)?,
        request.requested_at,
    ))?;
    match added {
        0 => Err(StoreError::Conflict(id).into()),
        _ => Ok(()),
    }
}

fn decide(
    conn: &Connection,
    id: ApprovalId,
    decision: &DecisionRecord,
) -> Result<Result<(), DecisionRecord>, Failure> {
    let id = id.to_string();
    if conn.prepare_cached(DECIDE)?.execute((&id, json::write(decision)?))? > 0 {
        return Ok(Ok(()));
    }
    let first: Option<String> =
        conn.prepare_cached(FIRST)?.query_row([&id], |row| row.get(0)).optional()?;
    Ok(Err(json::read(&first.ok_or(StoreError::Missing(id))?)?))
}

fn question(row: &Row<'_>) -> Result<Question, Failure> {
    let waiting =
        Waiting { request: json::read(text(row, 0)?)?, batch: json::read(text(row, 1)?)? };
    let decision: Option<String> = row.get(2)?;
    Ok((waiting, decision.as_deref().map(json::read).transpose()?))
}
