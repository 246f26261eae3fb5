//! `SqliteStore`: one writer thread and a pool of read connections.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;
use toolcrib_core::store::StoreMonitor;
use toolcrib_core::{AuditCheckpoint, AuditSigner, BoxFuture, RunId, StoreError};

use crate::audit_checkpoints::CheckpointSigner;
use crate::connection::{self, OpenedDatabase};
use crate::db_files::{DatabaseFiles, SharedFile};
use crate::disk_reserve::DiskReserve;
use crate::error::{Failure, OpenError, stopped};
use crate::health::{CommitCounts, Health};
use crate::read_pool::ReadPool;
use crate::shared_options::SharedOptions;
use crate::tables::PendingIntents;
use crate::wal_checkpoint;
use crate::worker_locks::WorkerLocks;
use crate::writer::{Durability, Job, OnFullDisk, Settings, Writer};

/// How long a read waits for the queued writes of its own process: longer than a commit on a slow
/// disk, short enough for an interactive user.
const CATCH_UP: Duration = Duration::from_secs(1);
/// Time after opening at which all pages are checked for the first time.
const CHECK_AFTER: Duration = Duration::from_secs(60);

/// Every row type in one SQLite file. Clones are handles of the same store; dropping the last one
/// writes all queued jobs and closes the file.
///
/// Writes are queued in call order when a method is called, whether or not its future is awaited;
/// the future waits for the commit. Queueing never blocks, however long the disk or another process
/// takes. Reads see committed data and need a tokio runtime.
///
/// It implements every trait of `toolcrib_core::store`.
///
/// ```
/// use toolcrib_core::store::{Switch, SwitchState, SwitchStore as _};
/// use toolcrib_store::SqliteStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("toolcrib.db");
/// let store = SqliteStore::open(&file)?;
/// let switch = Switch {
///     owner: String::new(),
///     name: "tool:fetch_url".to_owned(),
///     state: SwitchState::Off,
///     by: "an embedder".to_owned(),
///     at: 1_767_225_600_000,
/// };
/// store.set_switch(switch.clone()).await?;
/// drop(store);
///
/// // The write was committed before its future ended: another process finds it.
/// assert_eq!(SqliteStore::open(&file)?.switches("").await?, [switch]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    /// `None` for an in-memory database: its single connection also reads, on the writer thread.
    /// Dropped first, so that the writer closes the file.
    readers: Option<Arc<ReadPool>>,
    writer: Writer,
    faults: QueuedErrors,
    health: Arc<Health>,
    workers: Arc<WorkerLocks>,
    /// Number of unawaited writes that are not committed yet.
    beside: Arc<AtomicU64>,
    queued: Arc<PendingIntents>,
    /// Dropped last: see [`SharedFile`].
    _held: Option<SharedFile>,
}

/// Options for opening a store. `..StoreOptions::default()` keeps the defaults for the rest.
#[derive(Clone, Default)]
pub struct StoreOptions {
    /// Signs audit checkpoints; `None` disables them. Its key belongs outside the database.
    pub signer: Option<Arc<dyn AuditSigner>>,
    /// A file outside the database to which each checkpoint is appended as a JSON line.
    pub anchors: Option<PathBuf>,
    /// How long a write waits for a lock of another process; `None` means 35 s, so that a lock of
    /// 30 s loses no write (SQLite polls at intervals).
    pub busy: Option<Duration>,
    /// Options of a shared database; a file ignores them.
    pub shared: SharedOptions,
    /// Time after opening at which all pages are checked in the background for the first time;
    /// `None` means one minute, so that only long-running processes do it. The check is repeated
    /// every day.
    pub check_after: Option<Duration>,
    /// Delay before each synced commit, to simulate a slow disk in tests and benchmarks.
    pub full_commit_delay: Duration,
}

impl SqliteStore {
    /// Opens the store at `path`, or creates it with its folders, readable by this user only.
    /// Blocks for a few milliseconds, or up to 35 s while another process migrates it.
    ///
    /// # Errors
    /// [`OpenError`] with a message for users. A file that is not a database, belongs to another
    /// application or a newer Toolcrib, or is damaged stays unchanged.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, StoreOptions::default())
    }

    /// Works like [`open`](Self::open), with options.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_with(path: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        let opened = connection::open(path, options.busy.unwrap_or(connection::BUSY))?;
        let OpenedDatabase { mut conn, path, held, unsynced } = opened;
        let failed = |source| OpenError::Io { path: path.clone(), source };
        let health = Arc::<Health>::default();
        let folder = wal_checkpoint::start_checkpointer(
            &mut conn,
            path.clone(),
            Arc::clone(&health),
            options.check_after.unwrap_or(CHECK_AFTER),
        )
        .map_err(failed)?;
        let place = Arc::new(DatabaseFiles::for_database(&path));
        let settings = Settings {
            disk: Some((Arc::clone(&place), DiskReserve::for_database(&path))),
            notary: options.signer.map(|signer| CheckpointSigner::new(signer, options.anchors)),
            full_commit_delay: options.full_commit_delay,
            helpers: vec![folder],
            ..Settings::in_memory(Arc::clone(&health))
        };
        let (file, of) = (held.file(), path.clone());
        let sync = move || if unsynced { connection::sync_file(&file, &of) } else { Ok(()) };
        let writer = Writer::start(conn, settings, sync).map_err(failed)?;
        let workers = WorkerLocks::for_database(&path);
        let readers = ReadPool::new(path, place, Arc::clone(&health));
        Ok(Self::with(writer, health, workers, Some((readers, held))))
    }

    /// Creates an in-memory store that ends with its last handle, for tests.
    ///
    /// # Errors
    /// [`OpenError`] if memory or a thread cannot be allocated.
    pub fn in_memory() -> Result<Self, OpenError> {
        Self::in_memory_with(StoreOptions::default())
    }

    /// Creates an in-memory store that ends with its last handle, with options.
    ///
    /// # Errors
    /// [`OpenError`] if memory or a thread cannot be allocated.
    pub fn in_memory_with(options: StoreOptions) -> Result<Self, OpenError> {
        let path = || Path::new(":memory:").to_owned();
        let conn = connection::in_memory()
            .map_err(|e| OpenError::Failed { path: path(), reason: e.to_string() })?;
        let health = Arc::<Health>::default();
        let settings = Settings {
            notary: options.signer.map(|signer| CheckpointSigner::new(signer, options.anchors)),
            full_commit_delay: options.full_commit_delay,
            ..Settings::in_memory(Arc::clone(&health))
        };
        let writer = Writer::start(conn, settings, || Ok(()))
            .map_err(|source| OpenError::Io { path: path(), source })?;
        Ok(Self::with(writer, health, WorkerLocks::default(), None))
    }

    fn with(
        writer: Writer,
        health: Arc<Health>,
        workers: WorkerLocks,
        file: Option<(ReadPool, SharedFile)>,
    ) -> Self {
        let (readers, held) = file.unzip();
        let inner = Inner {
            readers: readers.map(Arc::new),
            writer,
            faults: QueuedErrors::default(),
            health,
            workers: Arc::new(workers),
            beside: Arc::default(),
            queued: Arc::default(),
            _held: held,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the number of transactions committed by this handle and its clones.
    #[must_use]
    pub fn commits(&self) -> CommitCounts {
        self.inner.health.commits()
    }

    /// Returns the health of the store.
    pub(crate) fn health(&self) -> &Health {
        &self.inner.health
    }

    /// Returns the locks that show which workers are alive.
    pub(crate) fn worker_locks(&self) -> &Arc<WorkerLocks> {
        &self.inner.workers
    }

    /// Returns the intents that are queued and not written yet.
    pub(crate) fn pending_intents(&self) -> &Arc<PendingIntents> {
        &self.inner.queued
    }

    /// Signs the newest audit record, after everything that is queued is committed.
    pub(crate) fn audit_checkpoint(
        &self,
    ) -> BoxFuture<'static, Result<Option<AuditCheckpoint>, StoreError>> {
        let (tell, told) = oneshot::channel();
        self.inner.writer.sign_checkpoint(Box::new(move |sealed| {
            let _ = tell.send(sealed);
        }));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Queues a job that ends running work. If the disk is full, it is retried with the space of
    /// the reserve.
    pub(crate) fn write_outcome<T: Send + 'static>(
        &self,
        survives: Durability,
        work: impl Fn(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        self.write_reserved(OnFullDisk::Keep, survives, work)
    }

    /// Queues a job that may use the reserve of a full disk.
    pub(crate) fn write_reserved<T: Send + 'static>(
        &self,
        on_full_disk: OnFullDisk,
        survives: Durability,
        work: impl Fn(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (tell, told) = oneshot::channel();
        self.inner.writer.send(Job::reserved(on_full_disk, survives, work, move |result| {
            let _ = tell.send(result);
        }));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Queues an unawaited job. Later reads of this handle see it.
    pub(crate) fn write_unawaited(
        &self,
        survives: Durability,
        work: impl FnOnce(&Connection) -> Result<(), Failure> + Send + 'static,
    ) {
        let beside = Arc::clone(&self.inner.beside);
        beside.fetch_add(1, Ordering::AcqRel);
        let job = Job::new(survives, work, move |_| {
            beside.fetch_sub(1, Ordering::AcqRel);
        });
        self.inner.writer.send(job.patient());
    }

    /// Queues a job; the future waits for its commit.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        survives: Durability,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (tell, told) = oneshot::channel();
        self.inner.writer.send(Job::new(survives, work, move |result| {
            // The caller dropped its future; the job is done anyway.
            let _ = tell.send(result);
        }));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Queues a job that may use the reserve, with a compensation, `undone`. It runs on the writer
    /// thread before the next job if the commit fails, and whenever the caller drops the future
    /// without receiving the answer.
    pub(crate) fn write_or<T: Send + 'static>(
        &self,
        survives: Durability,
        work: impl Fn(&Connection) -> Result<T, Failure> + Send + 'static,
        undone: impl FnOnce() + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (tell, told) = oneshot::channel();
        let unheard = RunOnDrop(Some(undone));
        let reserve = OnFullDisk::UseReserve;
        self.inner.writer.send(Job::reserved(reserve, survives, work, move |result| {
            // Dropping the receiver also drops an answer that is in the channel, and `unheard` with
            // it.
            let _ = tell.send(result.map(|value| (value, unheard)));
        }));
        Box::pin(async move {
            let (value, mut unheard) = told.await.unwrap_or_else(|_| Err(stopped()))?;
            unheard.0 = None;
            Ok(value)
        })
    }

    /// Queues a job whose error is recorded for the next [`flush_run`](Self::flush_run) of the run.
    pub(crate) fn queue(
        &self,
        run: RunId,
        survives: Durability,
        work: impl FnOnce(&Connection) -> Result<(), Failure> + Send + 'static,
    ) {
        let faults = self.inner.faults.clone();
        self.inner.writer.send(Job::new(survives, work, move |result| {
            if let Err(error) = result {
                faults.lock().entry(run).or_insert(error);
            }
        }));
    }

    /// Waits until everything that is queued now is committed; returns the first error recorded for
    /// the run.
    pub(crate) fn flush_run(&self, run: RunId) -> BoxFuture<'static, Result<(), StoreError>> {
        let faults = self.inner.faults.clone();
        let (tell, told) = oneshot::channel();
        // Answers come in queue order, so the errors of all earlier checkpoints are recorded.
        self.inner.writer.send(Job::new(
            Durability::ProcessCrash,
            |_| Ok(()),
            move |committed| {
                let fault = faults.lock().remove(&run);
                let _ = tell.send(fault.map_or(committed, Err));
            },
        ));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Reads committed data, including the unawaited writes of this handle.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let Some(readers) = self.inner.readers.clone() else {
            return self.write(Durability::ProcessCrash, work);
        };
        let is_behind = self.inner.beside.load(Ordering::Acquire) > 0;
        let caught_up = is_behind.then(|| self.caught_up());
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || {
                if let Some(caught_up) = caught_up {
                    // While the disk is full or locked no new job is written, but reads continue.
                    let _ = caught_up.recv_timeout(CATCH_UP);
                }
                readers.read(work)
            });
            read.await.map_err(|_| stopped())?.map_err(StoreError::from)
        })
    }

    /// Signals when everything that is queued now is committed or refused.
    fn caught_up(&self) -> mpsc::Receiver<()> {
        let (tell, told) = mpsc::channel();
        self.inner.writer.send(Job::new(
            Durability::ProcessCrash,
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
        survives: Durability,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tell, told) = mpsc::channel();
        self.inner.writer.send(Job::new(survives, work, move |result| {
            let _ = tell.send(result);
        }));
        told.recv().unwrap_or_else(|_| Err(stopped()))
    }

    /// Reads committed data, on a thread that may block.
    pub(crate) fn read_now<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.inner.readers {
            Some(readers) => Ok(readers.read(work)?),
            None => self.write_now(Durability::ProcessCrash, work),
        }
    }
}

/// The first error of each run's unawaited checkpoints.
#[derive(Clone, Default)]
struct QueuedErrors {
    by_run: Arc<Mutex<HashMap<RunId, StoreError>>>,
}

impl QueuedErrors {
    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, StoreError>> {
        self.by_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs its closure on drop, unless the closure was taken out before.
struct RunOnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for RunOnDrop<F> {
    fn drop(&mut self) {
        if let Some(undone) = self.0.take() {
            undone();
        }
    }
}
/// A file is used by one daemon.
impl StoreMonitor for SqliteStore {
    fn database_file(&self) -> Option<PathBuf> {
        self.inner.readers.as_ref().map(|readers| readers.path().to_owned())
    }
}
