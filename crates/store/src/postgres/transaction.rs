//! One transaction: the writes that are queued, their audit records, and the mark by which its result can be read back.

use std::collections::HashMap;
use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use tokio::time::sleep;
use tokio_postgres::Error;
use toolcrib_core::{AuditEvent, StoreError};

use super::chain::{Chain, Links};
use super::error::is_lost;
use super::job::{Queued, Tx};
use super::link::Link;
use crate::writer::Survives;

const BEGIN: &str = "BEGIN";
/// The newest commits may be lost with the power then, never their order.
const BEGIN_QUICK: &str = "BEGIN; SET LOCAL synchronous_commit = off";
/// Held until the end: nobody can take over the calls of a claim while a transaction writes under it.
const GUARD: &str =
    "SELECT epoch, state FROM workers WHERE epoch = ANY($1) ORDER BY epoch FOR KEY SHARE";
const NEWEST: &str = "SELECT coalesce(max(epoch), 0) FROM workers";
const APPEND: &str = "INSERT INTO audit (chain, seq, call, text, hash)
    SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[])";
const MARK: &str =
    "UPDATE chains SET turn = $2, seq = $3, head = $4 WHERE chain = $1 AND turn = $2::bigint - 1";

/// How far a transaction came.
pub(super) enum Ended {
    /// It is committed, and this is how its chain stands.
    Committed(Chain),
    /// Nothing of it was written.
    Nothing(Error),
    /// The connection went while the server committed.
    Unknown,
    /// The database is not as this store left it.
    Broken(StoreError),
}

/// Does these jobs in one transaction.
pub(super) async fn transact(
    link: &Link,
    chain: &Chain,
    is_new: bool,
    jobs: &mut [Box<dyn Queued>],
    full_delay: Duration,
) -> Ended {
    match prepare(link, chain, is_new, jobs).await {
        Ok(Some(next)) => {
            if !full_delay.is_zero() && is_full(jobs) {
                sleep(full_delay).await;
            }
            crate::failpoint::hit("commit");
            match link.run("COMMIT").await {
                Ok(()) => Ended::Committed(next),
                Err(error) if is_lost(&error) => Ended::Unknown,
                Err(error) => Ended::Nothing(error),
            }
        }
        Ok(None) => Ended::Broken(StoreError::Failed(
            "another process wrote under the number of this one; the store is stopped".into(),
        )),
        Err(error) => Ended::Nothing(error),
    }
}

/// All but the commit; `None` = the mark is not where this store left it.
async fn prepare(
    link: &Link,
    chain: &Chain,
    is_new: bool,
    jobs: &mut [Box<dyn Queued>],
) -> Result<Option<Chain>, Error> {
    for sql in jobs.iter().filter_map(|job| job.begins_with()) {
        link.prepare(sql).await?;
    }
    let full = is_full(jobs);
    let claims: Vec<i64> = jobs.iter().filter_map(|job| epoch(&**job)).collect();
    let fenced = if claims.is_empty() {
        link.run(if full { BEGIN } else { BEGIN_QUICK }).await?;
        HashMap::new()
    } else {
        link.prepare(GUARD).await?;
        let begin = link.run(if full { BEGIN } else { BEGIN_QUICK });
        let (begun, fenced) = futures_util::future::join(begin, fenced(link, claims)).await;
        begun?;
        fenced?
    };
    let tx = Tx::new(link, chain.number, is_new);
    let mut events = Vec::new();
    let mut rest = jobs;
    while let Some(first) = rest.first() {
        let alone = first.begins_with().is_none();
        let length =
            if alone { 1 } else { rest.iter().take_while(|j| j.begins_with().is_some()).count() };
        let (group, later) = rest.split_at_mut(length);
        match group {
            [job] if alone => events.extend(by_itself(&tx, job, &fenced).await?),
            group => together(&tx, group, &fenced, &mut events).await?,
        }
        rest = later;
    }
    append(link, chain, &events).await
}

fn is_full(jobs: &[Box<dyn Queued>]) -> bool {
    jobs.iter().any(|job| job.survives() == Survives::PowerLoss)
}

/// The number of the claim that a job is done under.
fn epoch(job: &dyn Queued) -> Option<i64> {
    // Number 0 is that of an engine that never claimed any.
    job.epoch().filter(|epoch| *epoch != 0).map(|epoch| i64::try_from(epoch).unwrap_or(i64::MAX))
}

/// Claims that do not hold, with the newest that anybody has.
async fn fenced(link: &Link, claims: Vec<i64>) -> Result<HashMap<i64, StoreError>, Error> {
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
        let newest = link.first(NEWEST, &[]).await?;
        let current: i64 = newest.map_or(Ok(0), |row| row.try_get(0))?;
        let (current, number) = (current.unsigned_abs(), claimed.unsigned_abs());
        fenced.insert(claimed, StoreError::Fenced { current, claimed: number });
    }
    Ok(fenced)
}

fn refusal(job: &dyn Queued, fenced: &HashMap<i64, StoreError>) -> Option<StoreError> {
    epoch(job).and_then(|epoch| fenced.get(&epoch)).cloned()
}

/// Jobs whose statements go to the server one after the other, without waiting for answers in between.
async fn together(
    tx: &Tx<'_>,
    jobs: &mut [Box<dyn Queued>],
    fenced: &HashMap<i64, StoreError>,
    events: &mut Vec<AuditEvent>,
) -> Result<(), Error> {
    let mut running = Vec::with_capacity(jobs.len());
    for job in jobs {
        match refusal(&**job, fenced) {
            Some(error) => job.refuse(error),
            None => running.push((job.run(tx), None)),
        }
    }
    // Polled in order first: this sends the first statement of each.
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

/// A job of several statements: taken back when it is refused.
async fn by_itself(
    tx: &Tx<'_>,
    job: &mut Box<dyn Queued>,
    fenced: &HashMap<i64, StoreError>,
) -> Result<Vec<AuditEvent>, Error> {
    if let Some(error) = refusal(&**job, fenced) {
        job.refuse(error);
        return Ok(Vec::new());
    }
    tx.link.run("SAVEPOINT job").await?;
    let done = job.run(tx).await?;
    let end = if done.is_some() { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
    tx.link.run(end).await?;
    Ok(done.unwrap_or_default())
}

/// Writes the records and the mark.
async fn append(link: &Link, chain: &Chain, events: &[AuditEvent]) -> Result<Option<Chain>, Error> {
    let (next, links) = chain.grown(events);
    let Links { seqs, calls, texts, hashes } = &links;
    if !events.is_empty() {
        link.prepare(MARK).await?;
        link.execute(APPEND, &[&chain.number, seqs, calls, texts, hashes]).await?;
    }
    let marked = link
        .execute(MARK, &[&next.number, &next.turn, &next.seq_column(), &next.head_text()])
        .await?;
    Ok((marked == 1).then_some(next))
}
