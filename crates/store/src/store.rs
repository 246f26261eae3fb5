//! The store: one thread that writes, connections that read.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::sync::oneshot;
use toolcrib_core::{BoxFuture, RunId, StoreError};

use crate::error::{Failure, OpenError, stopped};
use crate::file::{self, Opened};
use crate::readers::Readers;
use crate::writer::{Job, Survives, Writer};

/// Conversations, runs, questions, grants and facts in one SQLite file. Clones are handles of the same store; when the last one goes,
/// what is queued is written and the file is closed.
///
/// Writes are queued when a method is called, in that order, whether or not the future is awaited; the future waits for the commit.
/// Queueing never blocks, however long the disk or another process takes.
/// Reads see what is committed and need a tokio runtime.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    /// `None` = in memory: a database of one connection, on which the writer reads too. Goes first, so that the writer closes the file.
    readers: Option<Arc<Readers>>,
    writer: Writer,
    faults: Faults,
}

impl SqliteStore {
    /// Opens the store at `path`, or makes it with its folders, readable for this user only. Blocks for a few milliseconds, or for up to
    /// 35 s while another process migrates it.
    ///
    /// # Errors
    /// [`OpenError`] in words for people: a file that is no database, of another application or of a newer Toolcrib is left untouched.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let Opened { conn, path, unsynced } = file::open(path)?;
        let file = path.clone();
        let sync = move || if unsynced { file::sync_file(&file) } else { Ok(()) };
        let writer = Writer::start(conn, sync)
            .map_err(|source| OpenError::Io { path: path.clone(), source })?;
        Ok(Self::with(writer, Some(Arc::new(Readers::new(path)))))
    }

    /// A store that is gone with its last handle, for tests.
    ///
    /// # Errors
    /// [`OpenError`] if there is no memory or thread for it.
    pub fn in_memory() -> Result<Self, OpenError> {
        let path = || Path::new(":memory:").to_owned();
        let conn = file::in_memory()
            .map_err(|e| OpenError::Failed { path: path(), reason: e.to_string() })?;
        let writer = Writer::start(conn, || Ok(()))
            .map_err(|source| OpenError::Io { path: path(), source })?;
        Ok(Self::with(writer, None))
    }

    fn with(writer: Writer, readers: Option<Arc<Readers>>) -> Self {
        Self { inner: Arc::new(Inner { readers, writer, faults: Faults::default() }) }
    }

    /// Queues work for a transaction; the future waits for its commit.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        survives: Survives,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (tell, told) = oneshot::channel();
        self.inner.writer.send(Job::new(survives, work, move |result| {
            // Nobody listens any more: the work is done all the same.
            let _ = tell.send(result);
        }));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Queues work whose error is kept for the next [`flush`](Self::flushed) of the run.
    pub(crate) fn queue(
        &self,
        run: RunId,
        survives: Survives,
        work: impl FnOnce(&Connection) -> Result<(), Failure> + Send + 'static,
    ) {
        let faults = self.inner.faults.clone();
        self.inner.writer.send(Job::new(survives, work, move |result| {
            if let Err(error) = result {
                faults.lock().entry(run).or_insert(error);
            }
        }));
    }

    /// Waits until everything that is queued now is committed; the first error that was kept for the run.
    pub(crate) fn flushed(&self, run: RunId) -> BoxFuture<'static, Result<(), StoreError>> {
        let faults = self.inner.faults.clone();
        let (tell, told) = oneshot::channel();
        // Answers come in the order of the queue, so the faults of all earlier checkpoints are there.
        self.inner.writer.send(Job::new(
            Survives::Kill,
            |_| Ok(()),
            move |committed| {
                let fault = faults.lock().remove(&run);
                let _ = tell.send(fault.map_or(committed, Err));
            },
        ));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Reads what is committed.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let Some(readers) = self.inner.readers.clone() else {
            return self.write(Survives::Kill, work);
        };
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || readers.read(work));
            read.await.map_err(|_| stopped())?.map_err(StoreError::from)
        })
    }
}

/// Errors of checkpoints that nobody waited for, by run; the first of each.
#[derive(Clone, Default)]
struct Faults {
    by_run: Arc<Mutex<HashMap<RunId, StoreError>>>,
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, StoreError>> {
        self.by_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
