//! SQLite: calls and their outcomes, and crash recovery.

use std::collections::HashSet;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use serde::Serialize;
use toolcrib_core::{
    Acceptance, AcceptedBatch, AuditEvent, BatchId, BoxFuture, CallDetails, CallEnd, CallId,
    CallRow, CallStore, Effect, Intent, InterruptedAttempt, Recovered, RunId, Settlement,
    StoreError, StoredCall, WorkerState,
};

use super::call_row::{call_row, columns, word_or_none};
use super::{audit, batches, claims};
use crate::error::Failure;
use crate::json;
use crate::sqlite::SqliteStore;
use crate::worker_locks::WorkerLocks;
use crate::writer::{Durability, OnFullDisk};

/// An upsert of [`columns`], each with its parameter.
macro_rules! put {
    ($rest:literal) => {
        concat!(
            "INSERT INTO calls (",
            columns!(),
            ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
            ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32) ON CONFLICT (id) DO ",
            $rest
        )
    };
}

const BEGIN: &str = put!("NOTHING RETURNING place");
/// The facts at the end replace those at the start. A call that has ended or that another worker
/// began stays unchanged.
const SETTLE: &str = put!(
    "UPDATE SET run = excluded.run, origin = excluded.origin, owner = excluded.owner, agent = excluded.agent,
    conversation = excluded.conversation, workspace = excluded.workspace, channel = excluded.channel, device = excluded.device,
    topic = excluded.topic, tool = excluded.tool, asked = excluded.asked, operation = excluded.operation,
    definition_hash = excluded.definition_hash, risk = excluded.risk, effect = excluded.effect, args = excluded.args,
    args_hash = excluded.args_hash, approval = excluded.approval, approved_by = excluded.approved_by,
    received_at = excluded.received_at, outcome = excluded.outcome, error_type = excluded.error_type,
    message = excluded.message, attempts = excluded.attempts, run_nanos = excluded.run_nanos, ended_at = excluded.ended_at,
    output_hash = excluded.output_hash, policy = excluded.policy, parent = excluded.parent
    WHERE outcome IS NULL AND epoch = excluded.epoch AND started_at = excluded.started_at RETURNING place"
);
/// Replaces an attempt that a crash interrupted by the next one; `earlier` lists the interrupted
/// attempts.
const RETRY: &str = "DELETE FROM calls WHERE id = ?1 RETURNING started_at, epoch, earlier";
const EARLIER: &str = "UPDATE calls SET earlier = ?2 WHERE id = ?1";
const STANDS: &str = "SELECT outcome IS NULL, epoch, effect FROM calls WHERE id = ?1";
/// A suspended call has not begun. Only repeatable calls are suspended.
const PUT_ASIDE: &str = "DELETE FROM calls WHERE id = ?1 AND epoch = ?2 AND outcome IS NULL
    AND effect IN ('pure', 'read', 'idempotent')";
const PUT_OUTCOME: &str = "INSERT INTO outcomes (call, text) VALUES (?1, ?2)";
const OUTCOME: &str =
    "SELECT text FROM outcomes WHERE call = (SELECT place FROM calls WHERE id = ?1)";
const GET: &str = concat!(
    "SELECT ",
    columns!(),
    ", (SELECT text FROM outcomes WHERE call = calls.place), earlier FROM calls WHERE id = ?1"
);
const RESUMABLE: &str = "SELECT 1 FROM runs WHERE id = ?1 AND status IN ('running', 'paused')";
const OPEN: &str = concat!("SELECT ", columns!(), " FROM calls WHERE outcome IS NULL ORDER BY id");

impl CallStore for SqliteStore {
    fn claim(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        let (at_work, given_back) =
            (Arc::clone(self.worker_locks()), Arc::clone(self.worker_locks()));
        // 0 is no claim.
        let number = Arc::<AtomicU64>::default();
        let told = Arc::clone(&number);
        // May be lost on power loss: the log is one sequence, so everything written under this
        // claim is lost with it. Any later synced commit syncs the claim too.
        self.write_or(
            Durability::ProcessCrash,
            move |conn| {
                let epoch = claims::claim(conn, &at_work)?;
                number.store(epoch, Ordering::Release);
                Ok(epoch)
            },
            // Before the next job: the number is assigned again.
            move || match told.load(Ordering::Acquire) {
                0 => {}
                epoch => given_back.release(epoch),
            },
        )
    }

    fn release(&self, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        let ended =
            self.write_outcome(Durability::ProcessCrash, move |conn| claims::end(conn, epoch));
        Box::pin(async move {
            ended.await?;
            self.worker_locks().release(epoch);
            Ok(())
        })
    }

    fn worker(&self, epoch: u64) -> BoxFuture<'_, Result<WorkerState, StoreError>> {
        let at_work = Arc::clone(self.worker_locks());
        self.read(move |conn| claims::state(conn, &at_work, epoch))
    }

    fn accept(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>> {
        let at_work = Arc::clone(self.worker_locks());
        self.write(Durability::PowerLoss, move |conn| batches::accept(conn, &at_work, &batch))
    }

    fn accept_ahead(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<Acceptance, StoreError>> {
        let at_work = Arc::clone(self.worker_locks());
        self.write(Durability::ProcessCrash, move |conn| batches::accept(conn, &at_work, &batch))
    }

    fn take_batch(&self, id: BatchId, epoch: u64) -> BoxFuture<'_, Result<bool, StoreError>> {
        let at_work = Arc::clone(self.worker_locks());
        self.write(Durability::PowerLoss, move |conn| batches::take(conn, &at_work, id, epoch))
    }

    fn abandoned_batches(&self) -> BoxFuture<'_, Result<Vec<AcceptedBatch>, StoreError>> {
        let at_work = Arc::clone(self.worker_locks());
        self.read(move |conn| batches::abandoned(conn, &at_work))
    }

    fn batch_of(&self, call: CallId) -> BoxFuture<'_, Result<Option<AcceptedBatch>, StoreError>> {
        self.read(move |conn| batches::of_call(conn, call))
    }

    fn finish_batch(&self, id: BatchId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write_outcome(Durability::ProcessCrash, move |conn| batches::done(conn, id))
    }

    fn shorten_batch(&self, batch: AcceptedBatch) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write_outcome(Durability::ProcessCrash, move |conn| batches::shorten(conn, &batch))
    }

    fn begin(&self, intent: Intent) -> BoxFuture<'_, Result<(), StoreError>> {
        let at_work = Arc::clone(self.worker_locks());
        if !intent.is_repeatable() {
            return self.write(Durability::PowerLoss, move |conn| begin(conn, &at_work, &intent));
        }
        // A repeatable call can run again, so its intent is not awaited, except where the write is
        // likely to be refused.
        let waits = !self.worker_locks().is_held(intent.epoch) || !self.health().accepts_writes();
        if waits || !self.pending_intents().insert(&intent) {
            return self
                .write(Durability::ProcessCrash, move |conn| begin(conn, &at_work, &intent));
        }
        let (queued, call) = (Arc::clone(self.pending_intents()), intent.facts.call);
        self.write_unawaited(Durability::ProcessCrash, move |conn| match queued.take(call) {
            Some(intent) => begin(conn, &at_work, &intent),
            // The end came first and was written together with the intent.
            None => Ok(()),
        });
        Box::pin(ready(Ok(())))
    }

    fn suspend(&self, call: CallId, epoch: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        // An intent that is not written yet is dropped.
        self.pending_intents().remove_for_claim(call, epoch);
        self.write_outcome(Durability::ProcessCrash, move |conn| {
            claims::check(conn, epoch)?;
            let row = (call.to_string(), i64::try_from(epoch)?);
            conn.prepare_cached(PUT_ASIDE)?.execute(row)?;
            Ok(())
        })
    }

    fn settle(&self, settlement: Settlement) -> BoxFuture<'_, Result<(), StoreError>> {
        let record = &settlement.record;
        let is_repeatable = record.facts.effect.is_some_and(Effect::is_repeatable);
        // A call that never started has changed nothing.
        let survives = match record.started_at {
            Some(_) if !is_repeatable => Durability::PowerLoss,
            _ => Durability::ProcessCrash,
        };
        let at_work = Arc::clone(self.worker_locks());
        let begun = self.pending_intents().take_for_end(record);
        self.write_outcome(survives, move |conn| {
            claims::check(conn, settlement.record.epoch)?;
            settle(conn, &at_work, begun.as_ref(), &settlement)
        })
    }

    fn call(&self, call: CallId) -> BoxFuture<'_, Result<Option<StoredCall>, StoreError>> {
        let at_work = Arc::clone(self.worker_locks());
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(GET)?;
            let mut rows = statement.query([call.to_string()])?;
            rows.next()?.map(|row| stored(conn, &at_work, row)).transpose()
        })
    }

    fn outcome_text(&self, call: CallId) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        self.read(move |conn| {
            let mut statement = conn.prepare_cached(OUTCOME)?;
            Ok(statement.query_row([call.to_string()], |row| row.get(0)).optional()?)
        })
    }

    fn open_calls(&self) -> BoxFuture<'_, Result<Vec<CallRow>, StoreError>> {
        self.read(open)
    }

    fn recover(&self, epoch: u64, now_ms: i64) -> BoxFuture<'_, Result<Recovered, StoreError>> {
        let at_work = Arc::clone(self.worker_locks());
        // If a power loss undoes the recovery, the next recovery finds the same rows and handles
        // them in the same way.
        let reserve = OnFullDisk::UseReserve;
        let recovered = self.write_reserved(reserve, Durability::ProcessCrash, move |conn| {
            let found = recover(conn, &at_work, epoch, now_ms)?;
            Ok((found, claims::stale_lock_files(conn, &at_work)?))
        });
        Box::pin(async move {
            let (found, left) = recovered.await?;
            left.into_iter().for_each(|epoch| self.worker_locks().forget(epoch));
            Ok(found)
        })
    }
}

fn begin(conn: &Connection, at_work: &WorkerLocks, intent: &Intent) -> Result<(), Failure> {
    claims::check(conn, intent.epoch)?;
    let call = intent.facts.call.to_string();
    let row =
        || put(conn, BEGIN, &call, &intent.facts, Some(intent.started_at), intent.epoch, None);
    if row()?.is_none() {
        if !is_left_behind(conn, at_work, &call)? {
            return Err(StoreError::Conflict(call).into());
        }
        let earlier = earlier(conn, &call)?;
        row()?;
        conn.prepare_cached(EARLIER)?.execute((&call, earlier))?;
    }
    if intent.is_repeatable() {
        return Ok(());
    }
    audit::append(conn, &AuditEvent::started(intent))
}

/// Whether an existing call is open, repeatable, and owned by a dead worker.
fn is_left_behind(conn: &Connection, at_work: &WorkerLocks, call: &str) -> Result<bool, Failure> {
    let mut statement = conn.prepare_cached(STANDS)?;
    let mut rows = statement.query([call])?;
    let Some(row) = rows.next()? else { return Ok(false) };
    let (is_open, epoch): (bool, i64) = (row.get(0)?, row.get(1)?);
    let effect: Option<Effect> = word_or_none(row, 2)?;
    Ok(is_open
        && effect.is_some_and(Effect::is_repeatable)
        && !claims::is_alive(conn, at_work, u64::try_from(epoch)?)?)
}

/// Removes the interrupted attempt of a call and returns all its interrupted attempts as JSON.
fn earlier(conn: &Connection, call: &str) -> Result<String, Failure> {
    let (started_at, epoch, before): (Option<i64>, i64, Option<String>) = conn
        .prepare_cached(RETRY)?
        .query_row([call], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut attempts: Vec<InterruptedAttempt> =
        before.as_deref().map(json::read).transpose()?.unwrap_or_default();
    attempts.push(InterruptedAttempt { epoch: u64::try_from(epoch)?, started_at });
    json::write(&attempts)
}

/// Writes the outcome of a call. An intent that is still queued shares its row; it is written first
/// only if the call has a row already.
fn settle(
    conn: &Connection,
    at_work: &WorkerLocks,
    begun: Option<&Intent>,
    settlement: &Settlement,
) -> Result<(), Failure> {
    let mut place = put_end(conn, settlement)?;
    if place.is_none()
        && let Some(intent) = begun
    {
        match begin(conn, at_work, intent) {
            Ok(()) => place = put_end(conn, settlement)?,
            // The intent was refused; the existing row gives the reason.
            Err(Failure::Answer(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    let call = settlement.record.facts.call.to_string();
    let never_began = settlement.record.started_at.is_none();
    if place.is_none() && never_began && is_left_behind(conn, at_work, &call)? {
        // Refused before it began again.
        let earlier = earlier(conn, &call)?;
        place = put_end(conn, settlement)?;
        conn.prepare_cached(EARLIER)?.execute((&call, earlier))?;
    }
    ended(conn, place, settlement)
}

/// Writes the outcome of a call that was begun.
fn end(conn: &Connection, settlement: &Settlement) -> Result<(), Failure> {
    let place = put_end(conn, settlement)?;
    ended(conn, place, settlement)
}

fn put_end(conn: &Connection, settlement: &Settlement) -> Result<Option<i64>, Failure> {
    let record = &settlement.record;
    let (call, end) = (record.facts.call.to_string(), Some(&record.end));
    put(conn, SETTLE, &call, &record.facts, record.started_at, record.epoch, end)
}

/// Stores the outcome beside the row and appends an audit record.
fn ended(conn: &Connection, place: Option<i64>, settlement: &Settlement) -> Result<(), Failure> {
    let Settlement { record, outcome } = settlement;
    let Some(place) = place else {
        return Err(not_ended(conn, record.facts.call.to_string(), record.epoch)?.into());
    };
    if let Some(text) = outcome {
        conn.prepare_cached(PUT_OUTCOME)?.execute((place, text))?;
    }
    audit::append(conn, &AuditEvent::settled(record))
}

/// The error for an outcome that was not written.
fn not_ended(conn: &Connection, call: String, claimed: u64) -> Result<StoreError, Failure> {
    let (is_open, epoch): (bool, i64) =
        conn.prepare_cached(STANDS)?.query_row([&call], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let current = u64::try_from(epoch)?;
    Ok(if is_open && current != claimed {
        StoreError::Fenced { current, claimed }
    } else {
        StoreError::Conflict(call)
    })
}

/// Writes a row with [`BEGIN`] or [`SETTLE`] and returns its `place`; `None` if the statement
/// changed no row.
fn put(
    conn: &Connection,
    sql: &str,
    call: &str,
    facts: &CallDetails,
    started_at: Option<i64>,
    epoch: u64,
    end: Option<&CallEnd>,
) -> Result<Option<i64>, Failure> {
    let context = &facts.context;
    let row: &[&dyn ToSql] = params![
        call,
        facts.run.map(|run| run.to_string()),
        word(&facts.origin)?,
        context.owner,
        context.agent,
        context.conversation,
        context.workspace,
        context.channel,
        context.device,
        context.topic,
        facts.tool.as_ref().map(|tool| tool.as_str()),
        facts.asked,
        facts.operation,
        facts.definition_hash,
        facts.risk.as_ref().map(word).transpose()?,
        facts.effect.as_ref().map(word).transpose()?,
        facts.args,
        facts.args_hash,
        facts.approval.map(|approval| approval.to_string()),
        facts.approved_by,
        facts.received_at,
        started_at,
        i64::try_from(epoch)?,
        end.map(|end| end.outcome.as_str()),
        end.and_then(|end| end.error_type).map(|error_type| error_type.as_str()),
        end.and_then(|end| end.message.as_deref()),
        end.map(|end| end.attempts),
        end.map(|end| i64::try_from(end.run_nanos)).transpose()?,
        end.map(|end| end.ended_at),
        end.and_then(|end| end.output_hash.as_deref()),
        facts.policy,
        facts.parent.map(|call| call.to_string()),
    ];
    Ok(conn.prepare_cached(sql)?.query_row(row, |row| row.get(0)).optional()?)
}

/// The wire name of a value.
fn word<T: Serialize>(value: &T) -> Result<String, Failure> {
    match serde_json::to_value(value)? {
        serde_json::Value::String(name) => Ok(name),
        other => Err(StoreError::Failed(format!("{other} is not a name")).into()),
    }
}

fn stored(conn: &Connection, at_work: &WorkerLocks, row: &Row<'_>) -> Result<StoredCall, Failure> {
    let (text, earlier): (Option<String>, Option<String>) = (row.get(32)?, row.get(33)?);
    let row = call_row(row)?;
    let is_worked_on = row.end.is_none() && claims::is_alive(conn, at_work, row.epoch)?;
    let outcome = text.as_deref().map(json::read).transpose()?;
    let earlier = earlier.as_deref().map(json::read).transpose()?.unwrap_or_default();
    Ok(StoredCall { row, outcome, is_owner_alive: is_worked_on, earlier })
}

fn open(conn: &Connection) -> Result<Vec<CallRow>, Failure> {
    conn.prepare_cached(OPEN)?.query_and_then([], call_row)?.collect()
}

/// Whether another worker can resume the run of a call. A run that is not stored, or that has
/// ended, cannot be resumed.
fn has_stored_run(conn: &Connection, run: Option<RunId>) -> Result<bool, Failure> {
    let Some(run) = run else { return Ok(false) };
    Ok(conn.prepare_cached(RESUMABLE)?.exists([run.to_string()])?)
}

/// Crash rule: an open call of a dead worker becomes interrupted if it is repeatable, else unknown;
/// a repeatable call stays open if its batch or run can go on. The caller has the write lock, so
/// two recoveries never overlap.
fn recover(
    conn: &Connection,
    at_work: &WorkerLocks,
    epoch: u64,
    now_ms: i64,
) -> Result<Recovered, Failure> {
    claims::check(conn, epoch)?;
    claims::end_dead_claims(conn, at_work)?;
    let goes_on = batches::open_calls(conn)?;
    let mut found = Recovered::default();
    let mut alive = HashSet::new();
    for row in open(conn)? {
        if alive.contains(&row.epoch) {
            continue;
        }
        if claims::is_alive(conn, at_work, row.epoch)? {
            alive.insert(row.epoch);
            continue;
        }
        let (call, of) = (row.facts.call, row.epoch);
        let run = row.facts.run;
        let started_at = row.started_at.unwrap_or(row.facts.received_at);
        let intent = Intent { facts: row.facts, started_at, epoch: of };
        let is_repeatable = intent.is_repeatable();
        if is_repeatable && (goes_on.contains(&call) || has_stored_run(conn, run)?) {
            continue;
        }
        end(conn, &Settlement::from_crash(intent, now_ms, of))?;
        if is_repeatable { found.interrupted.push(call) } else { found.unknown.push(call) }
    }
    Ok(found)
}
