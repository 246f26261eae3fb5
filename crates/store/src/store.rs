//! The store: one thread that writes, connections that read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;
use toolcrib_core::{AuditCheckpoint, AuditSigner, BoxFuture, RunId, StoreError};

use crate::error::{Failure, OpenError, stopped};
use crate::file::{self, Opened};
use crate::health::{CommitCounts, Health};
use crate::notary::Notary;
use crate::place::{Held, Place};
use crate::readers::Readers;
use crate::reserve::Reserve;
use crate::rows::Queued;
use crate::wal;
use crate::workers::Workers;
use crate::writer::{Job, Settings, Survives, Writer};

/// How long a read waits for what its own process has queued: longer than a slow disk takes for a commit, and shorter than people wait.
const CATCH_UP: Duration = Duration::from_secs(1);

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
    health: Arc<Health>,
    workers: Arc<Workers>,
    /// Writes that nobody waits for, and that are not committed yet.
    beside: Arc<AtomicU64>,
    queued: Arc<Queued>,
    /// Goes last: see [`Held`].
    _held: Option<Held>,
}

/// How a store is opened. `..StoreOptions::default()` leaves the rest as it is for people.
#[derive(Clone, Default)]
pub struct StoreOptions {
    /// Signs checkpoints of the audit; `None` = there are none. Its key belongs outside the database.
    pub signer: Option<Arc<dyn AuditSigner>>,
    /// A file outside the database to which each checkpoint is added as a line of JSON.
    pub anchors: Option<PathBuf>,
    /// How long a write waits for another process that has the database locked; `None` = 35 s (reliability B1: 30 s are survived). SQLite
    /// looks only now and then.
    pub busy: Option<Duration>,
    /// For tests and benchmarks: waited before each synced commit, as a slow disk would make it.
    pub full_commit_delay: Duration,
}

impl SqliteStore {
    /// Opens the store at `path`, or makes it with its folders, readable for this user only. Blocks for a few milliseconds, or for up to
    /// 35 s while another process migrates it.
    ///
    /// # Errors
    /// [`OpenError`] in words for people: a file that is no database, of another application, of a newer Toolcrib or damaged is left
    /// untouched.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, StoreOptions::default())
    }

    /// Opens the store at `path`, as [`open`](Self::open) does, with these options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        let opened = file::open(path, options.busy.unwrap_or(file::BUSY))?;
        let Opened { mut conn, path, held, unsynced } = opened;
        let failed = |source| OpenError::Io { path: path.clone(), source };
        let health = Arc::<Health>::default();
        let folder =
            wal::fold_beside(&mut conn, path.clone(), Arc::clone(&health)).map_err(failed)?;
        let place = Arc::new(Place::of(&path));
        let settings = Settings {
            disk: Some((Arc::clone(&place), Reserve::of(&path))),
            notary: options.signer.map(|signer| Notary::new(signer, options.anchors)),
            full_commit_delay: options.full_commit_delay,
            helpers: vec![folder],
            ..Settings::in_memory(Arc::clone(&health))
        };
        let (file, of) = (held.file(), path.clone());
        let sync = move || if unsynced { file::sync_file(&file, &of) } else { Ok(()) };
        let writer = Writer::start(conn, settings, sync).map_err(failed)?;
        let workers = Workers::of(&path);
        let readers = Readers::new(path, place, Arc::clone(&health));
        Ok(Self::with(writer, health, workers, Some((readers, held))))
    }

    /// A store that is gone with its last handle, for tests.
    ///
    /// # Errors
    /// [`OpenError`] if there is no memory or thread for it.
    pub fn in_memory() -> Result<Self, OpenError> {
        Self::in_memory_with(StoreOptions::default())
    }

    /// A store that is gone with its last handle, with these options.
    ///
    /// # Errors
    /// [`OpenError`] if there is no memory or thread for it.
    pub fn in_memory_with(options: StoreOptions) -> Result<Self, OpenError> {
        let path = || Path::new(":memory:").to_owned();
        let conn = file::in_memory()
            .map_err(|e| OpenError::Failed { path: path(), reason: e.to_string() })?;
        let health = Arc::<Health>::default();
        let settings = Settings {
            notary: options.signer.map(|signer| Notary::new(signer, options.anchors)),
            full_commit_delay: options.full_commit_delay,
            ..Settings::in_memory(Arc::clone(&health))
        };
        let writer = Writer::start(conn, settings, || Ok(()))
            .map_err(|source| OpenError::Io { path: path(), source })?;
        Ok(Self::with(writer, health, Workers::default(), None))
    }

    fn with(
        writer: Writer,
        health: Arc<Health>,
        workers: Workers,
        file: Option<(Readers, Held)>,
    ) -> Self {
        let (readers, held) = file.unzip();
        let inner = Inner {
            readers: readers.map(Arc::new),
            writer,
            faults: Faults::default(),
            health,
            workers: Arc::new(workers),
            beside: Arc::default(),
            queued: Arc::default(),
            _held: held,
        };
        Self { inner: Arc::new(inner) }
    }

    /// The transactions that this handle and its clones have committed.
    #[must_use]
    pub fn commits(&self) -> CommitCounts {
        self.inner.health.commits()
    }

    /// How the store is.
    pub(crate) fn health(&self) -> &Health {
        &self.inner.health
    }

    /// Who is alive.
    pub(crate) fn workers(&self) -> &Arc<Workers> {
        &self.inner.workers
    }

    /// Beginnings that are not written yet.
    pub(crate) fn queued(&self) -> &Arc<Queued> {
        &self.inner.queued
    }

    /// Signs the newest record of the audit, when everything that is queued is committed.
    pub(crate) fn audit_checkpoint(
        &self,
    ) -> BoxFuture<'static, Result<Option<AuditCheckpoint>, StoreError>> {
        let (tell, told) = oneshot::channel();
        self.inner.writer.seal(Box::new(move |sealed| {
            let _ = tell.send(sealed);
        }));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Queues work that ends something that runs already; it is done again when the first try found no room.
    pub(crate) fn write_outcome<T: Send + 'static>(
        &self,
        survives: Survives,
        work: impl Fn(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (tell, told) = oneshot::channel();
        self.inner.writer.send(Job::outcome(survives, work, move |result| {
            let _ = tell.send(result);
        }));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Queues work that nobody waits for. Reads of this handle that begin later see it.
    pub(crate) fn write_beside(
        &self,
        survives: Survives,
        work: impl FnOnce(&Connection) -> Result<(), Failure> + Send + 'static,
    ) {
        let beside = Arc::clone(&self.inner.beside);
        beside.fetch_add(1, Ordering::AcqRel);
        let job = Job::new(survives, work, move |_| {
            beside.fetch_sub(1, Ordering::AcqRel);
        });
        self.inner.writer.send(job.patient());
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

    /// Queues work for a transaction, and `undone` for the case that its commit fails, which is done on the thread that writes, before its
    /// next job, or that nobody hears the answer, whenever the waiting ends.
    pub(crate) fn write_or<T: Send + 'static>(
        &self,
        survives: Survives,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
        undone: impl FnOnce() + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (tell, told) = oneshot::channel();
        let unheard = Unheard(Some(undone));
        self.inner.writer.send(Job::new(survives, work, move |result| {
            // An answer that is in the channel when its receiver goes is dropped with it, and `unheard` too.
            let _ = tell.send(result.map(|value| (value, unheard)));
        }));
        Box::pin(async move {
            let (value, mut unheard) = told.await.unwrap_or_else(|_| Err(stopped()))?;
            unheard.0 = None;
            Ok(value)
        })
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

    /// Reads what is committed, and what this handle has queued without waiting for it.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let Some(readers) = self.inner.readers.clone() else {
            return self.write(Survives::Kill, work);
        };
        let is_behind = self.inner.beside.load(Ordering::Acquire) > 0;
        let caught_up = is_behind.then(|| self.caught_up());
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || {
                if let Some(caught_up) = caught_up {
                    // On a disk that is full or locked nothing new is written, and reads go on (reliability D1).
                    let _ = caught_up.recv_timeout(CATCH_UP);
                }
                readers.read(work)
            });
            read.await.map_err(|_| stopped())?.map_err(StoreError::from)
        })
    }

    /// Tells when everything that is queued now is committed, or was refused.
    fn caught_up(&self) -> mpsc::Receiver<()> {
        let (tell, told) = mpsc::channel();
        self.inner.writer.send(Job::new(
            Survives::Kill,
            |_| Ok(()),
            move |_| {
                let _ = tell.send(());
            },
        ));
        told
    }

    /// Writes and waits for the commit, on a thread that may block.
    pub(crate) fn write_now<T: Send + 'static>(
        &self,
        survives: Survives,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tell, told) = mpsc::channel();
        self.inner.writer.send(Job::new(survives, work, move |result| {
            let _ = tell.send(result);
        }));
        told.recv().unwrap_or_else(|_| Err(stopped()))
    }

    /// Reads what is committed, on a thread that may block.
    pub(crate) fn read_now<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.inner.readers {
            Some(readers) => Ok(readers.read(work)?),
            None => self.write_now(Survives::Kill, work),
        }
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

/// Does what is in it when it is dropped before somebody takes that out.
struct Unheard<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Unheard<F> {
    fn drop(&mut self) {
        if let Some(undone) = self.0.take() {
            undone();
        }
    }
}
