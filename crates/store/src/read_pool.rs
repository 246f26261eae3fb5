//! Pool of read-only SQLite connections.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::connection;
use crate::db_files::DatabaseFiles;
use crate::error::Failure;
use crate::health::Health;

/// Maximum number of idle connections; further ones are closed when they are returned.
const MAX_IDLE: usize = 4;

/// Read connections, opened on demand.
pub(crate) struct ReadPool {
    path: PathBuf,
    place: Arc<DatabaseFiles>,
    health: Arc<Health>,
    idle: Mutex<Vec<Connection>>,
}

impl ReadPool {
    /// Returns the path of the database file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn new(path: PathBuf, place: Arc<DatabaseFiles>, health: Arc<Health>) -> Self {
        Self { path, place, health, idle: Mutex::default() }
    }

    /// Runs a read on committed data. Blocks.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Some(error) = self.health.missing_error() {
            return Err(error.clone().into());
        }
        let idle = self.idle().pop();
        let conn = match idle {
            Some(conn) => conn,
            None => {
                // The path may refer to another file by now.
                if let Err(words) = self.place.check() {
                    return Err(self.health.mark_missing(words).into());
                }
                connection::reader(&self.path)?
            }
        };
        let result = work(&conn);
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push(conn);
        }
        result
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
