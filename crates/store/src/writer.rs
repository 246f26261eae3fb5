//! The writer thread: takes queued jobs, commits them together, then answers.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use toolcrib_core::{AuditCheckpoint, StoreError};

use crate::audit_checkpoints::CheckpointSigner;
use crate::db_files::DatabaseFiles;
use crate::disk_reserve::DiskReserve;
use crate::error::stopped;
use crate::health::Health;

mod commit_loop;
mod job;

use commit_loop::CommitLoop;
pub(crate) use job::{Durability, Job, OnFullDisk};

/// Callback for the result of a requested audit checkpoint.
type CheckpointReply = Box<dyn FnOnce(Result<Option<AuditCheckpoint>, StoreError>) + Send>;

/// A request to the thread.
pub(crate) enum Message {
    /// A write.
    Job(Job),
    /// A request for an audit checkpoint.
    Seal(CheckpointReply),
}

/// Configuration of the writer.
pub(crate) struct Settings {
    /// Health of the store, shared with its other parts.
    pub(crate) health: Arc<Health>,
    /// The database files and the disk reserve; `None` for an in-memory database.
    pub(crate) disk: Option<(Arc<DatabaseFiles>, DiskReserve)>,
    /// Signs audit checkpoints.
    pub(crate) notary: Option<CheckpointSigner>,
    /// Delay before each synced commit, for tests.
    pub(crate) full_commit_delay: Duration,
    /// Threads that end when the connection is closed.
    pub(crate) helpers: Vec<JoinHandle<()>>,
}

impl Settings {
    /// Returns the settings of an in-memory store.
    pub(crate) fn in_memory(health: Arc<Health>) -> Self {
        Self {
            health,
            disk: None,
            notary: None,
            full_commit_delay: Duration::ZERO,
            helpers: Vec::new(),
        }
    }
}

/// The handle of the thread. Dropping it waits until the thread has finished the queue.
pub(crate) struct Writer {
    queue: Option<Sender<Message>>,
    threads: Vec<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread, which runs `first` before the first write.
    pub(crate) fn start(
        conn: Connection,
        mut settings: Settings,
        first: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, messages) = channel();
        let helpers = std::mem::take(&mut settings.helpers);
        let run = move || {
            if let Err(error) = first() {
                settings.health.fail(StoreError::Failed(error.to_string()));
            }
            CommitLoop::new(conn, settings).run(&messages);
        };
        let thread = std::thread::Builder::new().name("toolcrib-store".into()).spawn(run)?;
        let threads = std::iter::once(thread).chain(helpers).collect();
        Ok(Self { queue: Some(queue), threads })
    }

    /// Queues a job and never waits: callers are async and may be on the only thread of their
    /// runtime. The queue is unbounded. An awaiting caller has one write in it at a time; the
    /// unawaited checkpoints of a run contain messages that the run holds in memory anyway, bounded
    /// by its round limit, and the end of the run waits for them.
    pub(crate) fn send(&self, job: Job) {
        if let Err(Message::Job(job)) = self.message(Message::Job(job)) {
            job.refuse(&stopped());
        }
    }

    /// Requests an audit checkpoint, after everything that is queued.
    pub(crate) fn sign_checkpoint(&self, answer: CheckpointReply) {
        if let Err(Message::Seal(answer)) = self.message(Message::Seal(answer)) {
            answer(Err(stopped()));
        }
    }

    fn message(&self, message: Message) -> Result<(), Message> {
        match &self.queue {
            Some(queue) => queue.send(message).map_err(|unsent| unsent.0),
            None => Err(message),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        for thread in self.threads.drain(..) {
            // The panic was reported, and every later write refused.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
