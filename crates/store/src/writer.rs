//! The one thread that writes: takes what is queued, commits it together, then answers.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use toolcrib_core::{AuditCheckpoint, StoreError};

use crate::error::stopped;
use crate::health::Health;
use crate::notary::Notary;
use crate::place::Place;
use crate::reserve::Reserve;

mod job;
mod session;

pub(crate) use job::{Job, Survives};
use session::Session;

/// Answers whoever asked for a checkpoint of the audit.
type Sealed = Box<dyn FnOnce(Result<Option<AuditCheckpoint>, StoreError>) + Send>;

/// What the thread is asked for.
pub(crate) enum Message {
    /// Something to write.
    Job(Job),
    /// A checkpoint of the audit.
    Seal(Sealed),
}

/// What the writer needs beside its connection.
pub(crate) struct Settings {
    /// How the store is, shared with everybody who uses it.
    pub(crate) health: Arc<Health>,
    /// Where its files are, and the room that is kept for outcomes; `None` = in memory.
    pub(crate) disk: Option<(Arc<Place>, Reserve)>,
    /// Signs the audit.
    pub(crate) notary: Option<Notary>,
    /// Waited before each synced commit, by tests.
    pub(crate) full_commit_delay: Duration,
    /// Other threads that end when the connection is closed.
    pub(crate) helpers: Vec<JoinHandle<()>>,
}

impl Settings {
    /// Those of a store without a file.
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

/// The way to the thread. Dropping it lets the thread finish what is queued, and waits for that.
pub(crate) struct Writer {
    queue: Option<Sender<Message>>,
    threads: Vec<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread. What it has to do before it answers the first write is `first`.
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
            Session::new(conn, settings).run(&messages);
        };
        let thread = std::thread::Builder::new().name("toolcrib-store".into()).spawn(run)?;
        let threads = std::iter::once(thread).chain(helpers).collect();
        Ok(Self { queue: Some(queue), threads })
    }

    /// Queues a job, and never waits: callers are async, and may be the only thread of their runtime. The queue has no bound of its own.
    /// Whoever awaits a write sends one at a time; a run's checkpoints, which nobody awaits, are the messages that it holds anyway, of as
    /// many rounds as it may have, and its end waits for them.
    pub(crate) fn send(&self, job: Job) {
        if let Err(Message::Job(job)) = self.message(Message::Job(job)) {
            job.refuse(&stopped());
        }
    }

    /// Asks for a checkpoint of the audit, after everything that is queued.
    pub(crate) fn seal(&self, answer: Sealed) {
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
            // A panic of the thread has been reported, and every later write was refused.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
