//! The Postgres store: one database shared by several processes on several machines.
//!
//! Invariants
//! - One task per store writes, on its own thread. Jobs that are queued while it works go into its
//!   next transaction. The transaction survives a power loss if any of its jobs requires that
//!   (`synchronous_commit` as set on the server, at least `on`). No write is acknowledged before
//!   its commit.
//! - A claim is a lease on the server's clock. A transaction that writes under a claim locks the
//!   claim's row, so that taking over and writing exclude each other; a worker that was taken over
//!   is fenced permanently, however late it resumes.
//! - A server that does not answer for a few seconds counts as unavailable: reads and new writes
//!   are refused until it answers. Only writes that record past events wait for it.
//! - Each store writes its own audit chain, in the transaction of the change that is recorded. The
//!   chain's row also counts the store's commits: if the connection is lost during a commit, that
//!   row tells whether it succeeded, and only then is anything retried.
//! - A foreign database or one of a newer build is refused before it is changed. No error contains
//!   a password.
//!
//! Intentionally out of scope: deletion, and transaction poolers, because prepared statements
//! belong to one session.

mod audit_chain;
mod audit_checkpoints;
mod availability;
mod connection;
mod connection_url;
mod error;
mod figures;
mod job;
mod leases;
mod read_pool;
mod schema;
mod shared_artifacts;
mod tables;
mod text_escape;
mod tls;
mod transaction;
mod writer;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Row;
use toolcrib_core::{AuditCheckpoint, BoxFuture, RunId, StoreError};

use crate::{Migrations, ProcessIdentity, SchemaVersion, StoreOptions};
use availability::Availability;
use connection::{Connection, Connector, Params};
use connection_url::ConnectionUrl;
pub use error::ConnectError;
use error::{message, stopped};
use job::{Job, Reply, boxed};
use leases::{LEASE, Leases};
use read_pool::ReadPool;
pub use shared_artifacts::SharedArtifacts;
use writer::{Command, Writer, WriterContext};

/// Every row type, in one Postgres database; for artifacts see [`SharedArtifacts`]. Clones are
/// handles of the same store. Dropping the last one writes all queued jobs, releases the claims and
/// closes the connections; this blocks for a few milliseconds, or for a few seconds if the server
/// is unreachable.
///
/// Writes are queued in call order when a method is called, whether or not its future is awaited;
/// the future waits for the commit. Reads see committed data. Futures may be awaited on any
/// runtime, or without one.
#[derive(Clone)]
pub struct PostgresStore {
    inner: Arc<Inner>,
}

struct Inner {
    /// `None` while the store is being closed.
    queue: Option<mpsc::UnboundedSender<Command>>,
    readers: ReadPool,
    leases: Leases,
    /// See [`SharedOptions::instance`](crate::SharedOptions::instance).
    instance: Option<String>,
    faults: QueuedErrors,
    /// Displayed identity of this process; `None` for a command.
    identity: Option<ProcessIdentity>,
    opened: Instant,
    is_closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PostgresStore {
    /// Connects to `postgres://USER:PASSWORD@HOST:PORT/DATABASE` (libpq's format) and creates the
    /// tables in an empty database. The host may be the folder of the server's socket,
    /// percent-encoded. Connections that leave this machine are encrypted and the server's
    /// certificate is verified (`sslrootcert=FILE` names the trusted certificates), unless the URL
    /// contains `sslmode=disable`. A write that records past events waits for an unreachable server
    /// for [`StoreOptions::busy`], or 30 s.
    ///
    /// # Errors
    /// [`ConnectError`] with a message for users, without the password. A database of another
    /// application or of a newer Toolcrib stays unchanged.
    pub async fn connect(url: &str, options: StoreOptions) -> Result<Self, ConnectError> {
        Self::connect_for(url, options, LEASE).await
    }

    /// Works like [`connect`](Self::connect), with another lease: the time that a claim is valid
    /// without renewal (15 s by default), after which other processes recover the calls of a dead
    /// one. A claim is renewed three times per lease.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub async fn connect_for(
        url: &str,
        options: StoreOptions,
        lease: Duration,
    ) -> Result<Self, ConnectError> {
        let address = ConnectionUrl::parse(url)?;
        let place = address.place.clone();
        let (queue, commands) = mpsc::unbounded_channel();
        let (tell, told) = oneshot::channel();
        let is_closing = Arc::new(AtomicBool::new(false));
        let availability = Availability::new();
        let instance = options.shared.instance.clone();
        let leases = Leases::new(lease);
        let identity = options.shared.identity.clone();
        let side = WriterThread {
            address,
            options,
            leases: leases.clone(),
            is_closing: Arc::clone(&is_closing),
            availability: availability.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("toolcrib-postgres".into())
            .spawn(move || side.run(commands, tell))
            .map_err(|error| ConnectError::Failed {
                place: place.clone(),
                reason: error.to_string(),
            })?;
        let failed = || ConnectError::Failed { place, reason: "its thread ended".into() };
        let connector = told.await.unwrap_or_else(|_| Err(failed()))?;
        let inner = Inner {
            queue: Some(queue),
            readers: ReadPool::new(connector, availability),
            leases,
            instance,
            faults: QueuedErrors::default(),
            identity,
            opened: Instant::now(),
            is_closing,
            thread: Some(thread),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Applies missing migrations to the database of this URL, and creates the tables in an empty
    /// one. Returns the previous version.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub async fn migrate(url: &str) -> Result<SchemaVersion, ConnectError> {
        let (link, place) = Self::open_once(url).await?;
        schema::migrate(&link, &place).await
    }

    /// Returns the version of the tables in the database of this URL; changes nothing.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub async fn schema_version(url: &str) -> Result<SchemaVersion, ConnectError> {
        let (link, place) = Self::open_once(url).await?;
        schema::look_up(&link, &place).await
    }

    /// Opens one connection without a store, on the runtime of the caller.
    async fn open_once(url: &str) -> Result<(Connection, String), ConnectError> {
        let address = ConnectionUrl::parse(url)?;
        let place = address.place.clone();
        let connector = Connector::new(address, Handle::current(), LEASE);
        let link = connector.open().await.map_err(|error| ConnectError::Unreachable {
            place: place.clone(),
            reason: message(&error),
        })?;
        Ok((link, place))
    }

    /// Queues a job; the future waits for its commit.
    fn write<J: Job>(&self, job: J) -> BoxFuture<'static, Result<J::Answer, StoreError>> {
        let (tell, told) = oneshot::channel();
        // The caller dropped its future; the job is done anyway.
        self.queue(job, Box::new(move |result| drop(tell.send(result))));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    fn queue<J: Job>(&self, job: J, tell: Reply<J::Answer>) {
        self.send(Command::Write(boxed(job, tell)));
    }

    fn send(&self, command: Command) {
        let sent = match &self.inner.queue {
            Some(queue) => queue.send(command).map_err(|unsent| unsent.0),
            None => Err(command),
        };
        match sent {
            Ok(()) => {}
            Err(Command::Write(job)) => job.answer(Err(stopped())),
            Err(Command::Checkpoint(tell)) => tell(Err(stopped())),
        }
    }

    /// Signs new records, after everything that is queued.
    fn sign_checkpoint(&self) -> BoxFuture<'static, Result<Option<AuditCheckpoint>, StoreError>> {
        let (tell, told) = oneshot::channel();
        self.send(Command::Checkpoint(Box::new(move |result| drop(tell.send(result)))));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Queues a job whose error is recorded for the next [`flush_run`](Self::flush_run) of the run.
    fn queue_for(&self, run: RunId, job: impl Job<Answer = ()>) {
        let faults = self.inner.faults.clone();
        self.queue(
            job,
            Box::new(move |result| {
                if let Err(error) = result {
                    faults.lock().entry(run).or_insert(error);
                }
            }),
        );
    }

    /// Waits until everything that is queued now is committed; returns the first error recorded for
    /// the run.
    fn flush_run(&self, run: RunId) -> BoxFuture<'static, Result<(), StoreError>> {
        let faults = self.inner.faults.clone();
        let (tell, told) = oneshot::channel();
        // Answers come in queue order, so the errors of all earlier checkpoints are recorded.
        let answer = move |committed: Result<(), StoreError>| {
            let fault = faults.lock().remove(&run);
            let _ = tell.send(fault.map_or(committed, Err));
        };
        self.queue(tables::Flush, Box::new(answer));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Waits until earlier jobs are written or refused, so that a read sees unawaited writes.
    fn wait_for_queue(&self) -> BoxFuture<'static, ()> {
        let written = self.write(tables::NoOp);
        Box::pin(async move { drop(written.await) })
    }

    /// Returns all rows of a statement, mapped by `read`.
    async fn fetch_all<T>(
        &self,
        sql: &'static str,
        params: Params<'_>,
        read: impl Fn(&Row) -> Result<T, error::Failure>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.inner.readers.rows(sql, params).await?;
        rows.iter().map(|row| Ok(read(row)?)).collect()
    }

    /// Returns the first row of a statement, mapped by `read`.
    async fn fetch_optional<T>(
        &self,
        sql: &'static str,
        params: Params<'_>,
        read: impl Fn(&Row) -> Result<T, error::Failure>,
    ) -> Result<Option<T>, StoreError> {
        let rows = self.inner.readers.rows(sql, params).await?;
        Ok(rows.first().map(read).transpose()?)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::Relaxed);
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // The panic was reported, and every later write refused.
            let _ = thread.join();
        }
    }
}

/// State of the writer thread.
struct WriterThread {
    address: ConnectionUrl,
    options: StoreOptions,
    leases: Leases,
    is_closing: Arc<AtomicBool>,
    availability: Availability,
}

impl WriterThread {
    fn run(
        self,
        commands: mpsc::UnboundedReceiver<Command>,
        tell: oneshot::Sender<Result<Connector, ConnectError>>,
    ) {
        let place = self.address.place.clone();
        match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(self.work(commands, tell)),
            Err(error) => {
                let _ = tell.send(Err(ConnectError::Failed { place, reason: error.to_string() }));
            }
        }
    }

    async fn work(
        self,
        commands: mpsc::UnboundedReceiver<Command>,
        tell: oneshot::Sender<Result<Connector, ConnectError>>,
    ) {
        let Self { address, options, leases, is_closing, availability } = self;
        let place = address.place.clone();
        let idle = Duration::from_secs_f64(leases.seconds());
        let connector = Connector::new(address, Handle::current(), idle);
        let opened = async {
            let link = connector.open().await.map_err(|error| ConnectError::Unreachable {
                place: place.clone(),
                reason: message(&error),
            })?;
            match options.shared.migrations {
                Migrations::Apply => drop(schema::migrate(&link, &place).await?),
                Migrations::Refuse => schema::require_current(&link, &place).await?,
            }
            Ok(link)
        };
        let link = match opened.await {
            Ok(link) => link,
            Err(error) => return drop(tell.send(Err(error))),
        };
        if tell.send(Ok(connector.clone())).is_err() {
            return;
        }
        let keeper = tokio::spawn(leases.clone().renew_until_closed(connector.clone()));
        let watch = tokio::spawn(availability.clone().watch(connector.clone()));
        let context = WriterContext { connector: connector.clone(), availability, is_closing };
        Writer::new(context, link, options).run(commands).await;
        keeper.abort();
        watch.abort();
        leases.release_all(&connector).await;
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
