//! Writes, as they wait in the queue. Each can be done again from the start, on another connection, when a transaction came to nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use toolcrib_core::{AuditEvent, BoxFuture, StoreError};

use super::error::{Failure, stopped};
use super::link::Link;
use crate::writer::Survives;

/// The transaction that a write is part of.
pub(super) struct Tx<'a> {
    pub(super) link: &'a Link,
    /// The chain of the audit that this store writes; nobody has claimed its number yet, if this is set.
    chain: i64,
    is_free: AtomicBool,
}

impl<'a> Tx<'a> {
    pub(super) fn new(link: &'a Link, chain: i64, is_free: bool) -> Self {
        Self { link, chain, is_free: AtomicBool::new(is_free) }
    }

    /// The number of the chain, for the first who claims one right after it was drawn: then epoch and chain are the same.
    pub(super) fn fresh_number(&self) -> Option<i64> {
        self.is_free.swap(false, Ordering::Relaxed).then_some(self.chain)
    }
}

/// What a write gives: an answer, and what the audit says of it.
pub(super) struct Done<T> {
    pub(super) answer: T,
    pub(super) events: Vec<AuditEvent>,
}

impl<T> Done<T> {
    pub(super) fn quiet(answer: T) -> Self {
        Self { answer, events: Vec::new() }
    }

    pub(super) fn with(answer: T, event: AuditEvent) -> Self {
        Self { answer, events: vec![event] }
    }
}

/// One write.
pub(super) trait Job: Send + Sync + 'static {
    /// What whoever asked is told.
    type Answer: Send + 'static;

    /// What its commit survives.
    fn survives(&self) -> Survives {
        Survives::PowerLoss
    }

    /// The claim under which it is done; without one that holds, it is refused.
    fn epoch(&self) -> Option<u64> {
        None
    }

    /// The statement it begins with, if it writes with that one alone and writes nothing when it is refused: such jobs are sent to the server
    /// one after the other without waiting. `None` = it is done by itself, and taken back when it is refused.
    fn begins_with(&self) -> Option<&'static str>;

    /// Does it. Its first statement must be sent when the future is polled first.
    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<Done<Self::Answer>, Failure>>;
}

/// Tells whoever asked.
pub(super) type Tell<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

/// A job in the queue with whoever asked.
pub(super) struct Asked<J: Job> {
    job: J,
    result: Option<Result<J::Answer, StoreError>>,
    tell: Tell<J::Answer>,
}

/// [`Asked`], whatever it is about.
pub(super) trait Queued: Send {
    fn survives(&self) -> Survives;
    fn epoch(&self) -> Option<u64>;
    fn begins_with(&self) -> Option<&'static str>;

    /// Does it and keeps its answer; `true` = it was done, `false` = it was refused. The error is the transaction's.
    fn run<'a>(
        &'a mut self,
        tx: &'a Tx<'_>,
    ) -> BoxFuture<'a, Result<Option<Vec<AuditEvent>>, tokio_postgres::Error>>;

    /// Keeps a refusal.
    fn refuse(&mut self, error: StoreError);

    /// Tells whoever asked, once it is known what became of the transaction.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

pub(super) fn queued<J: Job>(job: J, tell: Tell<J::Answer>) -> Box<dyn Queued> {
    Box::new(Asked { job, result: None, tell })
}

impl<J: Job> Queued for Asked<J> {
    fn survives(&self) -> Survives {
        self.job.survives()
    }

    fn epoch(&self) -> Option<u64> {
        self.job.epoch()
    }

    fn begins_with(&self) -> Option<&'static str> {
        self.job.begins_with()
    }

    fn run<'a>(
        &'a mut self,
        tx: &'a Tx<'_>,
    ) -> BoxFuture<'a, Result<Option<Vec<AuditEvent>>, tokio_postgres::Error>> {
        Box::pin(async move {
            match self.job.run(tx).await {
                Ok(Done { answer, events }) => {
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
