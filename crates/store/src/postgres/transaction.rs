//! One transaction: the queued jobs, their audit records, and the commit counter for reading back
//! its result.

use std::collections::HashMap;
use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use tokio::time::sleep;
use tokio_postgres::Error;
use toolcrib_core::{AuditEvent, StoreError};

use super::audit_chain::{AuditChain, ChainedRecords};
use super::connection::Connection;
use super::error::is_connection_lost;
use super::job::{QueuedJob, Tx};
use crate::writer::Durability;

const BEGIN: &str = "BEGIN";
/// Asynchronous commit: a power loss may lose the newest commits, never their order.
const BEGIN_QUICK: &str = "BEGIN; SET LOCAL synchronous_commit = off";
/// Locks the claims until the transaction ends, so that no worker can take over calls of a claim
/// while a transaction writes under it.
const GUARD: &str =
    "SELECT epoch, state FROM workers WHERE epoch = ANY($1) ORDER BY epoch FOR KEY SHARE";
const NEWEST: &str = "SELECT coalesce(max(epoch), 0) FROM workers";
const APPEND: &str = "INSERT INTO audit (chain, seq, call, text, hash)
    SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[])";
const MARK: &str =
    "UPDATE chains SET turn = $2, seq = $3, head = $4 WHERE chain = $1 AND turn = $2::bigint - 1";

/// How a transaction ended.
pub(super) enum TransactionResult {
    /// Committed, with the new state of the chain.
    Committed(AuditChain),
    /// Rolled back.
    Nothing(Error),
    /// The connection was lost during COMMIT.
    Unknown,
    /// The chain in the database differs from the one that this store wrote.
    Broken(StoreError),
}

/// Runs the jobs in one transaction. `is_committing` is set before COMMIT is sent.
pub(super) async fn transact(
    link: &Connection,
    chain: &AuditChain,
    is_new: bool,
    jobs: &mut [Box<dyn QueuedJob>],
    full_delay: Duration,
    is_committing: &mut bool,
) -> TransactionResult {
    match prepare(link, chain, is_new, jobs).await {
        Ok(Some(next)) => {
            if !full_delay.is_zero() && is_full(jobs) {
                sleep(full_delay).await;
            }
            *is_committing = true;
            crate::failpoint::hit("commit");
            match link.batch_execute("COMMIT").await {
                Ok(()) => TransactionResult::Committed(next),
                Err(error) if is_connection_lost(&error) => TransactionResult::Unknown,
                Err(error) => TransactionResult::Nothing(error),
            }
        }
        Ok(None) => TransactionResult::Broken(StoreError::Failed(
            "another process wrote under the number of this one; the store is stopped".into(),
        )),
        Err(error) => TransactionResult::Nothing(error),
    }
}

/// Executes everything before COMMIT; `None` if the commit counter differs from this store's.
async fn prepare(
    link: &Connection,
    chain: &AuditChain,
    is_new: bool,
    jobs: &mut [Box<dyn QueuedJob>],
) -> Result<Option<AuditChain>, Error> {
    for sql in jobs.iter().filter_map(|job| job.pipelined_statement()) {
        link.prepare(sql).await?;
    }
    let full = is_full(jobs);
    let claims: Vec<i64> = jobs.iter().filter_map(|job| epoch(&**job)).collect();
    let fenced = if claims.is_empty() {
        link.batch_execute(if full { BEGIN } else { BEGIN_QUICK }).await?;
        HashMap::new()
    } else {
        link.prepare(GUARD).await?;
        let begin = link.batch_execute(if full { BEGIN } else { BEGIN_QUICK });
        let (begun, fenced) = futures_util::future::join(begin, fenced(link, claims)).await;
        begun?;
        fenced?
    };
    let tx = Tx::new(link, chain.number, is_new);
    let mut events = Vec::new();
    let mut rest = jobs;
    while let Some(first) = rest.first() {
        let alone = first.pipelined_statement().is_none();
        let length = if alone {
            1
        } else {
            rest.iter().take_while(|j| j.pipelined_statement().is_some()).count()
        };
        let (group, later) = rest.split_at_mut(length);
        match group {
            [job] if alone => events.extend(run_in_savepoint(&tx, job, &fenced).await?),
            group => run_pipelined(&tx, group, &fenced, &mut events).await?,
        }
        rest = later;
    }
    append(link, chain, &events).await
}

fn is_full(jobs: &[Box<dyn QueuedJob>]) -> bool {
    jobs.iter().any(|job| job.durability() == Durability::PowerLoss)
}

/// Returns the claim of a job.
fn epoch(job: &dyn QueuedJob) -> Option<i64> {
    // Epoch 0 belongs to an engine without a claim.
    job.epoch().filter(|epoch| *epoch != 0).map(|epoch| i64::try_from(epoch).unwrap_or(i64::MAX))
}

/// Returns the claims that have ended, with the newest epoch.
async fn fenced(link: &Connection, claims: Vec<i64>) -> Result<HashMap<i64, StoreError>, Error> {
    let rows = link.query(GUARD, &[&claims]).await?;
    let mut held = Vec::with_capacity(rows.len());
    for row in rows {
        let state: &str = row.try_get(1)?;
        if state == "working" {
            held.push(row.try_get::<_, i64>(0)?);
        }
    }
    let mut fenced = HashMap::new();
    for claimed in claims.into_iter().filter(|claim| !held.contains(claim)) {
        let newest = link.query_optional(NEWEST, &[]).await?;
        let current: i64 = newest.map_or(Ok(0), |row| row.try_get(0))?;
        let (current, number) = (current.unsigned_abs(), claimed.unsigned_abs());
        fenced.insert(claimed, StoreError::Fenced { current, claimed: number });
    }
    Ok(fenced)
}

fn refusal(job: &dyn QueuedJob, fenced: &HashMap<i64, StoreError>) -> Option<StoreError> {
    epoch(job).and_then(|epoch| fenced.get(&epoch)).cloned()
}

/// Runs pipelined jobs: their statements are sent without waiting for answers in between.
async fn run_pipelined(
    tx: &Tx<'_>,
    jobs: &mut [Box<dyn QueuedJob>],
    fenced: &HashMap<i64, StoreError>,
    events: &mut Vec<AuditEvent>,
) -> Result<(), Error> {
    let mut running = Vec::with_capacity(jobs.len());
    for job in jobs {
        match refusal(&**job, fenced) {
            Some(error) => {
                tx.link.figures().fenced_writes.add(1);
                job.refuse(error);
            }
            None => running.push((job.run(tx), None)),
        }
    }
    // The first poll sends the first statement of each job, in order.
    for (job, ended) in &mut running {
        if let Poll::Ready(result) = poll!(job.as_mut()) {
            *ended = Some(result);
        }
    }
    for (job, ended) in running {
        let result = match ended {
            Some(result) => result,
            None => job.await,
        };
        events.extend(result?.into_iter().flatten());
    }
    Ok(())
}

/// Runs a job of several statements, and rolls it back to its savepoint if it is refused.
async fn run_in_savepoint(
    tx: &Tx<'_>,
    job: &mut Box<dyn QueuedJob>,
    fenced: &HashMap<i64, StoreError>,
) -> Result<Vec<AuditEvent>, Error> {
    if let Some(error) = refusal(&**job, fenced) {
        tx.link.figures().fenced_writes.add(1);
        job.refuse(error);
        return Ok(Vec::new());
    }
    tx.link.batch_execute("SAVEPOINT job").await?;
    let done = job.run(tx).await?;
    let end = if done.is_some() { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
    tx.link.batch_execute(end).await?;
    Ok(done.unwrap_or_default())
}

/// Writes the audit records and the commit counter.
async fn append(
    link: &Connection,
    chain: &AuditChain,
    events: &[AuditEvent],
) -> Result<Option<AuditChain>, Error> {
    let (next, links) = chain.extended(events);
    let ChainedRecords { seqs, calls, texts, hashes } = &links;
    if !events.is_empty() {
        link.prepare(MARK).await?;
        link.execute(APPEND, &[&chain.number, seqs, calls, texts, hashes]).await?;
    }
    let marked = link
        .execute(MARK, &[&next.number, &next.turn, &next.seq_column(), &next.head_text()])
        .await?;
    Ok((marked == 1).then_some(next))
}
