//! Postgres behind the store traits of `core`: one database that several processes, on several machines, share.
//!
//! Invariants
//! - One task per store writes, on a thread of its own. What is queued while it works goes into its next transaction, which survives the loss
//!   of power (`synchronous_commit` as the server has it, at least `on`) if any of it has to; nothing is answered before it is committed.
//! - A claim is a lease by the server's clock. A transaction that writes under it holds its row, so that taking over and writing exclude each
//!   other; whoever was taken over is fenced off for good, however late it wakes up.
//! - Each store writes an audit chain of its own, in the transaction of what it is about. The row that says how far it has grown counts
//!   its commits too: when a connection is cut during one, that row says what became of it, and only then is anything done again.
//! - A database that is not ours, or is newer than this build, is refused before anything in it is touched. No error holds a password.
//!
//! Absent on purpose: artifacts (content belongs in files, or in an object store, not in rows of a database that several share), deletion,
//! and poolers that hand each transaction to another session: prepared statements belong to one.

mod address;
mod chain;
mod error;
mod job;
mod leases;
mod link;
mod readers;
mod rows;
mod schema;
mod signing;
mod text;
mod tls;
mod transaction;
mod writer;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Row;
use toolcrib_core::{AuditCheckpoint, BoxFuture, RunId, StoreError};

use crate::StoreOptions;
use address::Address;
pub use error::ConnectError;
use error::{stopped, words};
use job::{Job, Tell, queued};
use leases::{LEASE, Leases};
use link::{Connector, Params};
use readers::Readers;
use writer::{Command, Writer};

/// Everything that is kept but artifacts, in one Postgres database. Clones are handles of the same store; when the last one goes, what is
/// queued is written, its claims are given back, and its connections are closed. That blocks for some milliseconds, or for a few seconds
/// when the server cannot be reached.
///
/// Writes are queued when a method is called, in that order, whether or not the future is awaited; the future waits for the commit. Reads see
/// what is committed. Futures may be awaited on any runtime, or none.
#[derive(Clone)]
pub struct PostgresStore {
    inner: Arc<Inner>,
}

struct Inner {
    /// `None` = it is being closed.
    queue: Option<mpsc::UnboundedSender<Command>>,
    readers: Readers,
    leases: Leases,
    faults: Faults,
    is_closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PostgresStore {
    /// Connects to `postgres://USER:PASSWORD@HOST:PORT/DATABASE` (libpq's form) and makes the tables in an empty database. The host may be
    /// a folder with the server's socket, percent-encoded. Connections that leave this machine are encrypted, and the server's certificate
    /// is checked (`sslrootcert=FILE` names whom to trust), unless the URL says `sslmode=disable`. A write waits for a server that cannot
    /// be reached for [`StoreOptions::busy`], or 30 s.
    ///
    /// # Errors
    /// [`ConnectError`] in words for people, without the password: a database of another application or of a newer Toolcrib is left untouched.
    pub async fn connect(url: &str, options: StoreOptions) -> Result<Self, ConnectError> {
        Self::connect_for(url, options, LEASE).await
    }

    /// The same with another time that claims hold without being renewed (15 s otherwise): the time after which the calls of a process that
    /// died are dealt with by others. It is renewed three times in that.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    pub async fn connect_for(
        url: &str,
        options: StoreOptions,
        lease: Duration,
    ) -> Result<Self, ConnectError> {
        let address = Address::read(url)?;
        let place = address.place.clone();
        let (queue, commands) = mpsc::unbounded_channel();
        let (tell, told) = oneshot::channel();
        let is_closing = Arc::new(AtomicBool::new(false));
        let leases = Leases::new(lease);
        let side =
            Side { address, options, leases: leases.clone(), is_closing: Arc::clone(&is_closing) };
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
            readers: Readers::new(connector),
            leases,
            faults: Faults::default(),
            is_closing,
            thread: Some(thread),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Queues a write; the future waits for its commit.
    fn write<J: Job>(&self, job: J) -> BoxFuture<'static, Result<J::Answer, StoreError>> {
        let (tell, told) = oneshot::channel();
        // Nobody listens any more: the work is done all the same.
        self.queue(job, Box::new(move |result| drop(tell.send(result))));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    fn queue<J: Job>(&self, job: J, tell: Tell<J::Answer>) {
        self.send(Command::Write(queued(job, tell)));
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

    /// Signs what is new, after everything that is queued.
    fn seal(&self) -> BoxFuture<'static, Result<Option<AuditCheckpoint>, StoreError>> {
        let (tell, told) = oneshot::channel();
        self.send(Command::Checkpoint(Box::new(move |result| drop(tell.send(result)))));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Queues a write whose error is kept for the next [`flushed`](Self::flushed) of the run.
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

    /// Waits until everything that is queued now is committed; the first error that was kept for the run.
    fn flushed(&self, run: RunId) -> BoxFuture<'static, Result<(), StoreError>> {
        let faults = self.inner.faults.clone();
        let (tell, told) = oneshot::channel();
        // Answers come in the order of the queue, so the faults of all earlier checkpoints are there.
        let answer = move |committed: Result<(), StoreError>| {
            let fault = faults.lock().remove(&run);
            let _ = tell.send(fault.map_or(committed, Err));
        };
        self.queue(rows::Nothing, Box::new(answer));
        Box::pin(async move { told.await.unwrap_or_else(|_| Err(stopped())) })
    }

    /// Waits until what was queued before is written, or was given up: for reads of what nobody waits for.
    fn queued(&self) -> BoxFuture<'static, ()> {
        let written = self.write(rows::Nothing);
        Box::pin(async move { drop(written.await) })
    }

    /// The rows of a statement, each read by `read`.
    async fn all<T>(
        &self,
        sql: &'static str,
        params: Params<'_>,
        read: impl Fn(&Row) -> Result<T, error::Failure>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.inner.readers.rows(sql, params).await?;
        rows.iter().map(|row| Ok(read(row)?)).collect()
    }

    /// The first row of a statement.
    async fn one<T>(
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
            // A panic of the thread has been reported, and every later write was refused.
            let _ = thread.join();
        }
    }
}

/// The side of the thread.
struct Side {
    address: Address,
    options: StoreOptions,
    leases: Leases,
    is_closing: Arc<AtomicBool>,
}

impl Side {
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
        let Self { address, options, leases, is_closing } = self;
        let place = address.place.clone();
        let idle = Duration::from_secs_f64(leases.seconds());
        let connector = Connector::new(address, Handle::current(), idle);
        let opened = async {
            let link = connector.link().await.map_err(|error| ConnectError::Unreachable {
                place: place.clone(),
                reason: words(&error),
            })?;
            schema::migrate(&link, &place).await?;
            Ok(link)
        };
        let link = match opened.await {
            Ok(link) => link,
            Err(error) => return drop(tell.send(Err(error))),
        };
        if tell.send(Ok(connector.clone())).is_err() {
            return;
        }
        let keeper = tokio::spawn(leases.clone().keep(connector.clone()));
        Writer::new(connector.clone(), link, options, is_closing).run(commands).await;
        keeper.abort();
        leases.release_all(&connector).await;
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
