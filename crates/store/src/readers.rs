//! Connections that only read, beside the one that writes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::error::Failure;
use crate::file;
use crate::health::Health;
use crate::place::Place;

/// Idle connections that are kept; one that comes back beyond them is closed.
const KEPT: usize = 4;

/// Read connections, opened when they are first needed.
pub(crate) struct Readers {
    path: PathBuf,
    place: Arc<Place>,
    health: Arc<Health>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, place: Arc<Place>, health: Arc<Health>) -> Self {
        Self { path, place, health, idle: Mutex::default() }
    }

    /// Reads what is committed. Blocks.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Some(error) = self.health.moved() {
            return Err(error.clone().into());
        }
        let idle = self.idle().pop();
        let conn = match idle {
            Some(conn) => conn,
            None => {
                // The name may lead to another file by now.
                if let Err(words) = self.place.check() {
                    return Err(self.health.lose(words).into());
                }
                file::reader(&self.path)?
            }
        };
        let result = work(&conn);
        let mut idle = self.idle();
        if idle.len() < KEPT {
            idle.push(conn);
        }
        result
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
