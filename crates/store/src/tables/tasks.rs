//! SQLite: tasks.

use rusqlite::{OptionalExtension, Row};
use toolcrib_core::{BoxFuture, StoreError, Task, TaskId, TaskStore};

use crate::error::Failure;
use crate::json;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const ADD: &str =
    "INSERT INTO tasks (id, owner, revision, wake_at, body) VALUES (?1, ?2, 1, ?3, ?4)
    ON CONFLICT (id) DO NOTHING";
const GET: &str = "SELECT body, revision FROM tasks WHERE id = ?1";
const LIST: &str = "SELECT body, revision FROM tasks WHERE owner = ?1 ORDER BY id";
const WAKING: &str = "SELECT body, revision FROM tasks
    WHERE wake_at IS NOT NULL AND wake_at <= ?1 ORDER BY wake_at LIMIT ?2";
const NEXT: &str = "SELECT min(wake_at) FROM tasks WHERE wake_at IS NOT NULL";
const PUT: &str = "UPDATE tasks SET revision = revision + 1, wake_at = ?3, body = ?4
    WHERE id = ?1 AND revision = ?2";
const REVISION: &str = "SELECT revision FROM tasks WHERE id = ?1";
const REMOVE: &str = "DELETE FROM tasks WHERE id = ?1";

impl TaskStore for SqliteStore {
    fn add_task(&self, task: Task) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::PowerLoss, move |conn| {
            let id = task.id.to_string();
            let row = (&id, &task.owner, task.wake_at(), json::write(&task)?);
            match conn.prepare_cached(ADD)?.execute(row)? {
                0 => Err(StoreError::Conflict(id).into()),
                _ => Ok(()),
            }
        })
    }

    fn task(&self, id: TaskId) -> BoxFuture<'_, Result<Option<Task>, StoreError>> {
        self.read(move |conn| {
            let found =
                conn.prepare_cached(GET)?.query_and_then([id.to_string()], read_task)?.next();
            found.transpose()
        })
    }

    fn tasks<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Task>, StoreError>> {
        let key = [owner.to_owned()];
        self.read(move |conn| conn.prepare_cached(LIST)?.query_and_then(key, read_task)?.collect())
    }

    fn waking_tasks(
        &self,
        until: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Task>, StoreError>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(move |conn| {
            conn.prepare_cached(WAKING)?.query_and_then((until, limit), read_task)?.collect()
        })
    }

    fn next_wake(&self) -> BoxFuture<'_, Result<Option<i64>, StoreError>> {
        self.read(move |conn| Ok(conn.prepare_cached(NEXT)?.query_row([], |row| row.get(0))?))
    }

    fn put_task(&self, task: Task) -> BoxFuture<'_, Result<i64, StoreError>> {
        self.write(Durability::PowerLoss, move |conn| {
            let id = task.id.to_string();
            let row = (&id, task.revision, task.wake_at(), json::write(&task)?);
            if conn.prepare_cached(PUT)?.execute(row)? > 0 {
                return Ok(task.revision + 1);
            }
            let mut statement = conn.prepare_cached(REVISION)?;
            let there: Option<i64> = statement.query_row([&id], |row| row.get(0)).optional()?;
            Err(match there {
                Some(_) => StoreError::Conflict(id).into(),
                None => StoreError::Missing(id).into(),
            })
        })
    }

    fn remove_task(&self, id: TaskId) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.write(Durability::PowerLoss, move |conn| {
            Ok(conn.prepare_cached(REMOVE)?.execute([id.to_string()])? > 0)
        })
    }
}

fn read_task(row: &Row<'_>) -> Result<Task, Failure> {
    let body: Task = json::read(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?;
    Ok(Task { revision: row.get(1)?, ..body })
}
