//! The one thread that writes: takes what is queued, commits it together, then answers.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use toolcrib_core::StoreError;

use crate::error::{Failure, is_disk_failure, sqlite_failed, stopped};

/// Writes that share one commit, so that the database is not locked for long.
const BATCH: usize = 256;
/// What the others are told when one write made SQLite give up the whole transaction.
const TAKEN_BACK: &str = "a write of the same commit failed and took back all of it";

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Survives {
    /// The death of the process.
    Kill,
    /// The loss of power too.
    PowerLoss,
}

/// Answers whoever asked, when it is known whether the commit succeeded.
type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
/// Does the work, unless there is no transaction to do it in; `true` = keep what it wrote.
type Work = Box<dyn FnOnce(Result<&Connection, StoreError>) -> (bool, Answer) + Send>;

/// One write.
pub(crate) struct Job {
    survives: Survives,
    work: Work,
}

impl Job {
    /// Work inside a transaction, and who is told its result after the commit.
    pub(crate) fn new<T: Send + 'static>(
        survives: Survives,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
        answer: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) -> Self {
        let work = move |conn: Result<&Connection, StoreError>| -> (bool, Answer) {
            let result = conn.and_then(|conn| work(conn).map_err(StoreError::from));
            let keep = result.is_ok();
            let tell = move |committed: Result<(), StoreError>| {
                answer(result.and_then(|value| committed.map(|()| value)));
            };
            (keep, Box::new(tell))
        };
        Self { survives, work: Box::new(work) }
    }

    fn refuse(self, error: &StoreError) {
        let (_, answer) = (self.work)(Err(error.clone()));
        answer(Err(error.clone()));
    }
}

/// The way to the thread. Dropping it lets the thread finish what is queued, and waits for that.
pub(crate) struct Writer {
    queue: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread. What it has to do before it answers the first write is `first`.
    pub(crate) fn start(
        conn: Connection,
        first: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, jobs) = channel();
        let run = move || {
            let broken = first().err().map(|e| StoreError::Failed(e.to_string()));
            Session { conn, sync: None, broken }.run(&jobs);
        };
        let thread = std::thread::Builder::new().name("toolcrib-store".into()).spawn(run)?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues a job, and never waits: callers are async, and may be the only thread of their runtime. The queue has no bound of its own.
    /// Whoever awaits a write sends one at a time; a run's checkpoints, which nobody awaits, are the messages that it holds anyway, of as
    /// many rounds as it may have, and its end waits for them.
    pub(crate) fn send(&self, job: Job) {
        let sent = match &self.queue {
            Some(queue) => queue.send(job).map_err(|unsent| unsent.0),
            None => Err(job),
        };
        if let Err(job) = sent {
            job.refuse(&stopped());
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported, and every later write was refused.
            let _ = thread.join();
        }
    }
}

/// The thread's side.
struct Session {
    conn: Connection,
    /// What the connection is set to; `None` = not set yet.
    sync: Option<Survives>,
    /// The disk failed: nothing is written any more.
    broken: Option<StoreError>,
}

impl Session {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let batch = std::iter::once(first).chain(jobs.try_iter().take(BATCH - 1)).collect();
            self.batch(batch);
        }
    }

    fn batch(&mut self, batch: Vec<Job>) {
        let mut failed = match &self.broken {
            Some(error) => Some(error.clone()),
            None => self.begin(&batch).map_err(|e| self.note(&e)).err(),
        };
        let mut answers = Vec::with_capacity(batch.len());
        for job in batch {
            answers.push(match &failed {
                Some(error) => (job.work)(Err(error.clone())).1,
                None => {
                    let (answer, ended) = self.one(job.work);
                    failed = ended.err();
                    answer
                }
            });
        }
        let committed = match failed {
            None => self.conn.execute_batch("COMMIT").map_err(|e| self.note(&e)),
            Some(error) => Err(error),
        };
        if committed.is_err() && !self.conn.is_autocommit() {
            // If even this fails, the next BEGIN fails too, and says so.
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        for answer in answers {
            answer(committed.clone());
        }
    }

    /// Takes the write lock. How the commit is synced can only be set between transactions.
    fn begin(&mut self, batch: &[Job]) -> rusqlite::Result<()> {
        let wanted = batch.iter().map(|job| job.survives).max().unwrap_or(Survives::Kill);
        if self.sync != Some(wanted) {
            self.conn.execute_batch(match wanted {
                Survives::Kill => "PRAGMA synchronous = NORMAL",
                Survives::PowerLoss => "PRAGMA synchronous = FULL",
            })?;
            self.sync = Some(wanted);
        }
        self.conn.execute_batch("BEGIN IMMEDIATE")
    }

    /// One job in a savepoint. The error is the whole transaction's.
    fn one(&mut self, work: Work) -> (Answer, Result<(), StoreError>) {
        if let Err(e) = self.conn.execute_batch("SAVEPOINT job") {
            let error = self.note(&e);
            return (work(Err(error.clone())).1, Err(error));
        }
        let (keep, answer) = work(Ok(&self.conn));
        if self.conn.is_autocommit() {
            // Out of memory or disk, SQLite gives up more than the statement that failed.
            return (answer, Err(StoreError::Failed(TAKEN_BACK.into())));
        }
        let end = if keep { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" };
        (answer, self.conn.execute_batch(end).map_err(|e| self.note(&e)))
    }

    /// An error in words; one of the disk is the last.
    fn note(&mut self, error: &rusqlite::Error) -> StoreError {
        let words = sqlite_failed(error);
        if is_disk_failure(error) {
            self.broken = Some(words.clone());
        }
        words
    }
}

#[cfg(test)]
mod tests;
