//! Queued writes. Each can run again from the start, on another connection, when a transaction is
//! rolled back.

use std::sync::atomic::{AtomicBool, Ordering};

use toolcrib_core::{AuditEvent, BoxFuture, StoreError};

use super::connection::Connection;
use super::error::{Failure, stopped};
use crate::writer::Durability;

/// The transaction that runs a job.
pub(super) struct Tx<'a> {
    pub(super) link: &'a Connection,
    /// Number of this store's audit chain, and whether no claim has used that number yet.
    chain: i64,
    is_free: AtomicBool,
}

impl<'a> Tx<'a> {
    pub(super) fn new(link: &'a Connection, chain: i64, is_free: bool) -> Self {
        Self { link, chain, is_free: AtomicBool::new(is_free) }
    }

    /// Returns the chain number, for the first claim after it was drawn: epoch and chain then have
    /// the same number.
    pub(super) fn fresh_number(&self) -> Option<i64> {
        self.is_free.swap(false, Ordering::Relaxed).then_some(self.chain)
    }
}

/// The answer of a job, and its audit events.
pub(super) struct JobOutput<T> {
    pub(super) answer: T,
    pub(super) events: Vec<AuditEvent>,
}

impl<T> JobOutput<T> {
    pub(super) fn unaudited(answer: T) -> Self {
        Self { answer, events: Vec::new() }
    }

    pub(super) fn audited(answer: T, event: AuditEvent) -> Self {
        Self { answer, events: vec![event] }
    }
}

/// One write.
pub(super) trait Job: Send + Sync + 'static {
    /// The result sent to the caller.
    type Answer: Send + 'static;

    /// Returns the durability of its commit.
    fn durability(&self) -> Durability {
        Durability::PowerLoss
    }

    /// Returns whether the job waits for an unavailable server, because it records past events.
    /// Other jobs are refused.
    fn outlives_outage(&self) -> bool {
        false
    }

    /// Returns the claim that the job needs; if the claim has ended, the job is refused.
    fn epoch(&self) -> Option<u64> {
        None
    }

    /// Returns the first statement, if the job writes with that statement alone and writes nothing
    /// when it is refused: such jobs are pipelined. `None` means that the job runs in its own
    /// savepoint.
    fn pipelined_statement(&self) -> Option<&'static str>;

    /// Runs the job. Its first statement must be sent at the first poll.
    fn run<'a>(&'a self, tx: &'a Tx<'_>)
    -> BoxFuture<'a, Result<JobOutput<Self::Answer>, Failure>>;
}

/// Callback with the result.
pub(super) type Reply<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

/// A job in the queue with its callback.
pub(super) struct PendingJob<J: Job> {
    job: J,
    result: Option<Result<J::Answer, StoreError>>,
    tell: Reply<J::Answer>,
}

/// [`PendingJob`] with its type erased.
pub(super) trait QueuedJob: Send {
    fn durability(&self) -> Durability;
    fn outlives_outage(&self) -> bool;
    fn epoch(&self) -> Option<u64>;
    fn pipelined_statement(&self) -> Option<&'static str>;

    /// Runs the job and stores its answer; `true` if it succeeded, `false` if it was refused. An
    /// error belongs to the transaction.
    fn run<'a>(
        &'a mut self,
        tx: &'a Tx<'_>,
    ) -> BoxFuture<'a, Result<Option<Vec<AuditEvent>>, tokio_postgres::Error>>;

    /// Stores a refusal as the answer.
    fn refuse(&mut self, error: StoreError);

    /// Sends the answer, once the end of the transaction is known.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

pub(super) fn boxed<J: Job>(job: J, tell: Reply<J::Answer>) -> Box<dyn QueuedJob> {
    Box::new(PendingJob { job, result: None, tell })
}

impl<J: Job> QueuedJob for PendingJob<J> {
    fn durability(&self) -> Durability {
        self.job.durability()
    }

    fn outlives_outage(&self) -> bool {
        self.job.outlives_outage()
    }

    fn epoch(&self) -> Option<u64> {
        self.job.epoch()
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        self.job.pipelined_statement()
    }

    fn run<'a>(
        &'a mut self,
        tx: &'a Tx<'_>,
    ) -> BoxFuture<'a, Result<Option<Vec<AuditEvent>>, tokio_postgres::Error>> {
        Box::pin(async move {
            match self.job.run(tx).await {
                Ok(JobOutput { answer, events }) => {
                    self.result = Some(Ok(answer));
                    Ok(Some(events))
                }
                Err(Failure::Answer(error)) => {
                    self.result = Some(Err(error));
                    Ok(None)
                }
                Err(Failure::Database(error)) => Err(error),
            }
        })
    }

    fn refuse(&mut self, error: StoreError) {
        self.result = Some(Err(error));
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { result, tell, .. } = *self;
        tell(committed.and_then(|()| result.unwrap_or_else(|| Err(stopped()))));
    }
}
