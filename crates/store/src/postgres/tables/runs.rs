//! Postgres: runs of the agent loop.

use tokio_postgres::Row;
use toolcrib_core::{BoxFuture, OpenRun, RunId, RunStatus, RunStore, StoreError, StoredRun};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape;
use super::{at_most, number, read, write};
use crate::writer::Durability;

/// Writes nothing if the conversation does not exist, and locks it against deletion if it does.
const PUT: &str = "INSERT INTO runs AS r
    (id, conversation, owner, context, status, state, epoch, created_at, updated_at)
    SELECT $1, id, $3, $4, $5, $6, $7, $8, $9 FROM conversations WHERE id = $2 FOR KEY SHARE
    ON CONFLICT (id) DO UPDATE SET conversation = excluded.conversation, context = excluded.context,
        status = excluded.status, state = excluded.state, epoch = excluded.epoch,
        created_at = excluded.created_at, updated_at = excluded.updated_at
    WHERE r.epoch <= excluded.epoch AND r.owner = excluded.owner";
const STANDS: &str = "SELECT owner, epoch, status FROM runs WHERE id = $1";
macro_rules! select {
    ($of:literal) => {
        concat!(
            "SELECT id, conversation, context, status, state, epoch, created_at, updated_at ",
            $of
        )
    };
}

const GET: &str = select!("FROM runs WHERE id = $1");
const LIST: &str = select!("FROM runs WHERE owner = $1 ORDER BY created_at DESC, id DESC LIMIT $2");
const LIST_STATUS: &str = select!(
    "FROM runs WHERE owner = $1 AND status = $3 ORDER BY created_at DESC, id DESC LIMIT $2"
);
const BEFORE: &str = select!(
    "FROM runs WHERE owner = $1 AND (created_at, id) < ($3, $4)
    ORDER BY created_at DESC, id DESC LIMIT $2"
);
const BEFORE_STATUS: &str = select!(
    "FROM runs WHERE owner = $1 AND status = $5 AND (created_at, id) < ($3, $4)
    ORDER BY created_at DESC, id DESC LIMIT $2"
);
/// Steps through the index from owner to owner, so that the cost does not grow with the number of
/// ended runs.
const OPEN: &str = "WITH RECURSIVE owners (name) AS (
        (SELECT min(owner) FROM runs) UNION ALL
        SELECT (SELECT min(owner) FROM runs WHERE owner > name) FROM owners WHERE name IS NOT NULL
    )
    SELECT id, status, epoch FROM owners JOIN runs ON owner = name
    WHERE status IN ('running', 'paused') LIMIT $1";
/// Of two concurrent takes, the second waits for the first and finds the run taken.
const TAKE: &str = "UPDATE runs SET status = 'running', epoch = epoch + 1
    WHERE id = $1 AND epoch = $2 AND status IN ('running', 'paused')
    RETURNING id, conversation, context, status, state, epoch, created_at, updated_at";

impl RunStore for PostgresStore {
    fn put_run(&self, run: StoredRun) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Put(run))
    }

    fn run(&self, id: RunId) -> BoxFuture<'_, Result<Option<StoredRun>, StoreError>> {
        Box::pin(async move { self.fetch_optional(GET, &[&id.to_string()], run).await })
    }

    fn claim_run(&self, id: RunId, epoch: u64) -> BoxFuture<'_, Result<StoredRun, StoreError>> {
        self.write(Take { id, epoch })
    }

    fn runs<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>> {
        let (owner, limit) = (text_escape::escape(owner), at_most(limit));
        Box::pin(async move {
            match status {
                None => self.fetch_all(LIST, &[&owner, &limit], run).await,
                Some(status) => {
                    self.fetch_all(LIST_STATUS, &[&owner, &limit, &status.as_str()], run).await
                }
            }
        })
    }

    fn runs_before<'a>(
        &'a self,
        owner: &'a str,
        status: Option<RunStatus>,
        (created_at, id): (i64, RunId),
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredRun>, StoreError>> {
        let (owner, limit, id) = (text_escape::escape(owner), at_most(limit), id.to_string());
        Box::pin(async move {
            match status {
                None => self.fetch_all(BEFORE, &[&owner, &limit, &created_at, &id], run).await,
                Some(status) => {
                    let status = status.as_str();
                    self.fetch_all(BEFORE_STATUS, &[&owner, &limit, &created_at, &id, &status], run)
                        .await
                }
            }
        })
    }

    fn open_runs(&self, limit: usize) -> BoxFuture<'_, Result<Vec<OpenRun>, StoreError>> {
        Box::pin(async move { self.fetch_all(OPEN, &[&at_most(limit)], open_run).await })
    }
}

fn open_run(row: &Row) -> Result<OpenRun, Failure> {
    Ok(OpenRun {
        id: row.try_get::<_, &str>(0)?.parse()?,
        status: status(row.try_get(1)?)?,
        epoch: number(row, 2)?,
    })
}

/// Returns the durability of a run: a paused run waits for a person and must survive a power loss.
pub(super) fn durability(run: &StoredRun) -> Durability {
    match run.status {
        RunStatus::Paused => Durability::PowerLoss,
        RunStatus::Running | RunStatus::Ended => Durability::ProcessCrash,
    }
}

struct Put(StoredRun);

impl Job for Put {
    type Answer = ();

    fn durability(&self) -> Durability {
        durability(&self.0)
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(PUT)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            put(tx, &self.0).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}

/// Writes a run, inside the transaction of the caller.
pub(super) async fn put(tx: &Tx<'_>, run: &StoredRun) -> Result<(), Failure> {
    let (id, conversation) = (run.id.to_string(), run.conversation.to_string());
    let owner = text_escape::escape(&run.context.owner);
    let (context, state) = (write(&run.context)?, write(&run.state)?);
    let (status, epoch) = (run.status.as_str(), i64::try_from(run.epoch)?);
    let written = tx
        .link
        .execute(
            PUT,
            &[
                &id,
                &conversation,
                &owner,
                &context,
                &status,
                &state,
                &epoch,
                &run.created_at,
                &run.updated_at,
            ],
        )
        .await?;
    match written {
        0 => Err(refused(tx, id, conversation, run).await?.into()),
        _ => Ok(()),
    }
}

/// Returns the error for a run that was not written.
async fn refused(
    tx: &Tx<'_>,
    id: String,
    conversation: String,
    run: &StoredRun,
) -> Result<StoreError, Failure> {
    let Some(row) = tx.link.query_optional(STANDS, &[&id]).await? else {
        return Ok(StoreError::Missing(conversation));
    };
    let current = number(&row, 1)?;
    Ok(if super::text(&row, 0)? != run.context.owner {
        StoreError::Conflict(id)
    } else if current > run.epoch {
        StoreError::Fenced { current, claimed: run.epoch }
    } else {
        StoreError::Missing(conversation)
    })
}

struct Take {
    id: RunId,
    epoch: u64,
}

impl Job for Take {
    type Answer = StoredRun;

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(TAKE)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<StoredRun>, Failure>> {
        Box::pin(async move {
            let id = self.id.to_string();
            let taken = tx.link.query_optional(TAKE, &[&id, &i64::try_from(self.epoch)?]).await?;
            if let Some(row) = taken {
                return Ok(JobOutput::unaudited(run(&row)?));
            }
            let row = tx.link.query_optional(STANDS, &[&id]).await?;
            let status: Option<String> = row.map(|row| row.try_get(2)).transpose()?;
            Err(status.map_or(StoreError::Missing(id), StoreError::Conflict).into())
        })
    }
}

fn run(row: &Row) -> Result<StoredRun, Failure> {
    Ok(StoredRun {
        id: row.try_get::<_, &str>(0)?.parse()?,
        conversation: row.try_get::<_, &str>(1)?.parse()?,
        context: read(row, 2)?,
        status: status(row.try_get(3)?)?,
        state: read(row, 4)?,
        epoch: number(row, 5)?,
        created_at: row.try_get(6)?,
        updated_at: row.try_get(7)?,
    })
}

fn status(name: &str) -> Result<RunStatus, Failure> {
    [RunStatus::Running, RunStatus::Paused, RunStatus::Ended]
        .into_iter()
        .find(|status| status.as_str() == name)
        .ok_or_else(|| StoreError::Failed(format!("a run has the unknown status {name:?}")).into())
}
