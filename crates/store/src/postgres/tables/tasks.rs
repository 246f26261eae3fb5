//! Postgres: tasks.

use tokio_postgres::Row;
use toolcrib_core::{BoxFuture, StoreError, Task, TaskId, TaskStore};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::statement::Statement;
use super::{at_most, read, write};

const ADD: &str =
    "INSERT INTO tasks (id, owner, revision, wake_at, body) VALUES ($1, $2, 1, $3, $4)
    ON CONFLICT (id) DO NOTHING";
const GET: &str = "SELECT body, revision FROM tasks WHERE id = $1";
const LIST: &str = "SELECT body, revision FROM tasks WHERE owner = $1 ORDER BY id";
const WAKING: &str = "SELECT body, revision FROM tasks
    WHERE wake_at IS NOT NULL AND wake_at <= $1 ORDER BY wake_at LIMIT $2";
const NEXT: &str = "SELECT min(wake_at) FROM tasks WHERE wake_at IS NOT NULL";
const PUT: &str = "UPDATE tasks SET revision = revision + 1, wake_at = $3, body = $4
    WHERE id = $1 AND revision = $2";
const REMOVE: &str = "DELETE FROM tasks WHERE id = $1";

impl TaskStore for PostgresStore {
    fn add_task(&self, task: Task) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Add(task))
    }

    fn task(&self, id: TaskId) -> BoxFuture<'_, Result<Option<Task>, StoreError>> {
        Box::pin(async move { self.fetch_optional(GET, &[&id.to_string()], read_task).await })
    }

    fn tasks<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Task>, StoreError>> {
        Box::pin(async move { self.fetch_all(LIST, &[&escape(owner)], read_task).await })
    }

    fn waking_tasks(
        &self,
        until: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Task>, StoreError>> {
        Box::pin(async move { self.fetch_all(WAKING, &[&until, &at_most(limit)], read_task).await })
    }

    fn next_wake(&self) -> BoxFuture<'_, Result<Option<i64>, StoreError>> {
        Box::pin(async move {
            let wake = |row: &Row| Ok(row.try_get::<_, Option<i64>>(0)?);
            Ok(self.fetch_optional(NEXT, &[], wake).await?.flatten())
        })
    }

    fn put_task(&self, task: Task) -> BoxFuture<'_, Result<i64, StoreError>> {
        self.write(Put(task))
    }

    fn remove_task(&self, id: TaskId) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.write(Statement::changes_row(REMOVE, vec![Box::new(id.to_string())]))
    }
}

struct Add(Task);

impl Job for Add {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(ADD)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let (id, body) = (self.0.id.to_string(), write(&self.0)?);
            let (owner, wake) = (escape(&self.0.owner), self.0.wake_at());
            match tx.link.execute(ADD, &[&id, &owner, &wake, &body]).await? {
                0 => Err(StoreError::Conflict(id).into()),
                _ => Ok(JobOutput::unaudited(())),
            }
        })
    }
}

struct Put(Task);

impl Job for Put {
    type Answer = i64;

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(PUT)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<i64>, Failure>> {
        Box::pin(async move {
            let (id, body) = (self.0.id.to_string(), write(&self.0)?);
            let (revision, wake) = (self.0.revision, self.0.wake_at());
            if tx.link.execute(PUT, &[&id, &revision, &wake, &body]).await? > 0 {
                return Ok(JobOutput::unaudited(revision + 1));
            }
            Err(match tx.link.query_optional(GET, &[&id]).await? {
                Some(_) => StoreError::Conflict(id).into(),
                None => StoreError::Missing(id).into(),
            })
        })
    }
}

fn read_task(row: &Row) -> Result<Task, Failure> {
    let body: Task = read(row, 0)?;
    Ok(Task { revision: row.try_get(1)?, ..body })
}
