//! The writer task: takes queued jobs, commits them together, then answers. It reconnects, and
//! determines whether a commit with a lost connection succeeded before it retries any job.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_postgres::{Error, Row};
use toolcrib_core::audit::{CHECKPOINT_RECORDS, CHECKPOINT_SECONDS};
use toolcrib_core::{AuditCheckpoint, StoreError};

use super::audit_chain::AuditChain;
use super::audit_checkpoints::CheckpointSigner;
use super::availability::{self, Availability};
use super::connection::{Connection, Connector, Params};
use super::error::{is_connection_lost, is_transient, message, stopped, store_error};
use super::job::{QueuedJob, Reply, boxed};
use super::tables::audit::PutCheckpoint;
use super::transaction::{TransactionResult, transact};
use crate::StoreOptions;

/// Jobs per commit.
const BATCH: usize = 256;
/// How long a write waits for an unreachable server, such as one that restarts.
const PATIENCE: Duration = Duration::from_secs(30);
/// Like [`PATIENCE`], while the store is being closed.
const LAST_PATIENCE: Duration = Duration::from_secs(3);
/// Time limit of a transaction, after which its connection counts as lost.
const TRANSACTION: Duration = Duration::from_secs(90);
/// Longest wait of a commit for more jobs.
const LONGEST_WAIT: Duration = Duration::from_millis(2);
/// First and longest pause between connection attempts.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// When a store signs for the first time: after the lease of a process that died just before the
/// store started, so that the store also closes that chain.
const FIRST_CHECKPOINT: Duration = Duration::from_secs(20);

/// Chains whose newest record no checkpoint covers and whose process is dead. The newest record
/// must have the hash that the chain has: otherwise the rows were changed and are not signed.
const DEAD_CHAINS: &str = "SELECT chain, seq, head FROM chains
    WHERE seq > 0 AND chain <> $1 AND NOT works(chain)
    AND NOT EXISTS (SELECT FROM checkpoints WHERE checkpoints.chain = chains.chain AND checkpoints.seq = chains.seq)
    AND EXISTS (SELECT FROM audit WHERE audit.chain = chains.chain AND audit.seq = chains.seq AND hash = head)
    ORDER BY chain LIMIT 100";
const DRAW: &str = "INSERT INTO chains (chain) VALUES (nextval('epochs')) RETURNING chain";
/// Waits until the transaction in doubt has ended: it holds a lock on this row.
const READ_BACK: &str = "SELECT seq, head, turn FROM chains WHERE chain = $1 FOR UPDATE";

/// A request to the writer.
pub(super) enum Command {
    Write(Box<dyn QueuedJob>),
    Checkpoint(Reply<Option<AuditCheckpoint>>),
}

/// State that the writer shares with its store.
pub(super) struct WriterContext {
    pub(super) connector: Connector,
    pub(super) availability: Availability,
    pub(super) is_closing: Arc<AtomicBool>,
}

/// State of the writer task.
pub(super) struct Writer {
    context: WriterContext,
    link: Option<Connection>,
    chain: Option<AuditChain>,
    /// The connection was lost during a commit: the chain must be read back before the next write.
    is_in_doubt: bool,
    pace: BatchDelay,
    signing: CheckpointSigner,
    /// Delay before each durable commit, for tests.
    full_delay: Duration,
    /// How long a write waits for an unreachable server.
    patience: Duration,
    /// Set once writes are refused permanently.
    broken: Option<StoreError>,
    /// Jobs that wait until the server is back, in order, and the start of the wait.
    waiting: Vec<Box<dyn QueuedJob>>,
    /// Waiting jobs that the commit in doubt may have written.
    doubtful: Vec<Box<dyn QueuedJob>>,
    waiting_since: Option<Instant>,
}

/// Statistics of the newest commit. Callers that were answered often write again at once, so after
/// a slow commit a short wait lets them share the next one instead of waiting for two.
#[derive(Default)]
struct BatchDelay {
    jobs: usize,
    took: Duration,
}

impl BatchDelay {
    /// Returns the wait for more jobs: at most a quarter of the duration of the last commit, and
    /// none if that had a single job.
    fn wait(&self) -> Duration {
        if self.jobs > 1 { (self.took / 4).min(LONGEST_WAIT) } else { Duration::ZERO }
    }
}

/// Why jobs were not committed.
enum CommitFailure {
    /// One job failed; the others may succeed.
    One(StoreError),
    /// No job can be committed now.
    All(StoreError),
    /// No job can be committed now, and it is not yet known whether the commit in doubt wrote them.
    InDoubt(StoreError),
}

impl Writer {
    pub(super) fn new(context: WriterContext, link: Connection, options: StoreOptions) -> Self {
        Self {
            context,
            link: Some(link),
            chain: None,
            is_in_doubt: false,
            pace: BatchDelay::default(),
            signing: CheckpointSigner::new(options.signer, options.anchors),
            full_delay: options.full_commit_delay,
            patience: options.busy.unwrap_or(PATIENCE),
            broken: None,
            waiting: Vec::new(),
            doubtful: Vec::new(),
            waiting_since: None,
        }
    }

    /// Runs until the queue is closed, then signs new records.
    pub(super) async fn run(mut self, mut queue: UnboundedReceiver<Command>) {
        let mut due = Instant::now() + FIRST_CHECKPOINT;
        loop {
            let asked = tokio::select! {
                asked = queue.recv() => match asked {
                    Some(asked) => Some(asked),
                    None => break,
                },
                () = sleep_until(due) => None,
                () = self.retry_time(), if self.has_waiting() => {
                    self.batch(Vec::new()).await;
                    continue;
                }
            };
            let is_due = asked.is_none();
            if let Some(asked) = asked {
                self.commands(asked, &mut queue).await;
            }
            if is_due || self.unsigned() >= CHECKPOINT_RECORDS {
                // If signing fails, the next due time tries again.
                let _ = self.checkpoint().await;
            }
            if is_due {
                let _ = self.close_dead_chains().await;
                due = Instant::now() + Duration::from_secs(CHECKPOINT_SECONDS);
            }
        }
        // The last attempt of the jobs that wait.
        self.batch(Vec::new()).await;
        let _ = self.checkpoint().await;
    }

    /// Resolves when the jobs that wait are due: the server is back, or they have waited too long.
    async fn retry_time(&self) {
        let since = self.waiting_since.unwrap_or_else(Instant::now);
        let _ = timeout_at(since + self.patience, self.context.availability.back()).await;
    }

    /// Runs everything that is queued now, in order.
    async fn commands(&mut self, first: Command, queue: &mut UnboundedReceiver<Command>) {
        let mut next = Some(first);
        let mut jobs = Vec::new();
        let until = Instant::now() + self.pace.wait();
        while let Some(command) = next {
            match command {
                Command::Write(job) => jobs.push(job),
                Command::Checkpoint(tell) => {
                    self.batch(std::mem::take(&mut jobs)).await;
                    let made = self.checkpoint().await;
                    // Its failure is not a failure of the requested checkpoint.
                    let _ = self.close_dead_chains().await;
                    tell(made);
                }
            }
            if jobs.len() >= BATCH {
                break;
            }
            next = match queue.try_recv() {
                Ok(command) => Some(command),
                Err(_) if jobs.is_empty() || jobs.len() >= self.pace.jobs => None,
                Err(_) => timeout_at(until, queue.recv()).await.ok().flatten(),
            };
        }
        self.batch(jobs).await;
    }

    /// Runs the jobs in one transaction; if one of them makes it fail, runs each in a separate one.
    async fn batch(&mut self, new: Vec<Box<dyn QueuedJob>>) {
        let (mut jobs, failure) = match self.resolve_doubt().await {
            Ok(jobs) => (jobs, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        jobs.append(&mut self.waiting);
        jobs.extend(new);
        match failure {
            Some(failure) => self.fail(jobs, failure),
            None if jobs.is_empty() => {}
            None => self.commit_batch(jobs).await,
        }
        if !self.has_waiting() {
            self.waiting_since = None;
        }
    }

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.doubtful.is_empty()
    }

    /// Answers the jobs that the commit in doubt wrote; returns the others.
    async fn resolve_doubt(&mut self) -> Result<Vec<Box<dyn QueuedJob>>, CommitFailure> {
        if self.doubtful.is_empty() {
            return Ok(Vec::new());
        }
        match self.was_committed(Instant::now()).await {
            Ok(committed) => {
                let jobs = std::mem::take(&mut self.doubtful);
                if !committed {
                    return Ok(jobs);
                }
                jobs.into_iter().for_each(|job| job.answer(Ok(())));
                Ok(Vec::new())
            }
            Err(failure) => {
                let jobs = std::mem::take(&mut self.doubtful);
                let error = failure.cause().clone();
                self.fail(jobs, failure.in_doubt());
                Err(CommitFailure::All(error))
            }
        }
    }

    async fn commit_batch(&mut self, mut jobs: Vec<Box<dyn QueuedJob>>) {
        let (began, count) = (Instant::now(), jobs.len());
        let done = self.commit(&mut jobs).await;
        self.pace = BatchDelay { jobs: count, took: began.elapsed() };
        self.context.connector.figures().commits.record(began.elapsed());
        match done {
            Ok(()) => jobs.into_iter().for_each(|job| job.answer(Ok(()))),
            Err(CommitFailure::One(_)) if jobs.len() > 1 => self.commit_each(jobs).await,
            Err(failure) => self.fail(jobs, failure),
        }
    }

    /// Runs each job in its own transaction, until one must wait for the server.
    async fn commit_each(&mut self, jobs: Vec<Box<dyn QueuedJob>>) {
        let mut jobs = jobs.into_iter();
        while let Some(job) = jobs.next() {
            let mut alone = [job];
            let result = self.commit(&mut alone).await;
            let [job] = alone;
            match result {
                Ok(()) => job.answer(Ok(())),
                Err(CommitFailure::One(error)) => job.answer(Err(error)),
                Err(failure) => {
                    let error = failure.cause().clone();
                    self.fail(vec![job], failure);
                    if self.has_waiting() {
                        self.fail(jobs.collect(), CommitFailure::All(error));
                        return;
                    }
                }
            }
        }
    }

    /// Refuses jobs, except those that wait for the server.
    fn fail(&mut self, jobs: Vec<Box<dyn QueuedJob>>, failure: CommitFailure) {
        let is_in_doubt = matches!(failure, CommitFailure::InDoubt(_));
        let may_wait = self.may_wait(failure.cause());
        let error = failure.error();
        for job in jobs {
            match may_wait && job.outlives_outage() {
                true if is_in_doubt => self.doubtful.push(job),
                true => self.waiting.push(job),
                false => job.answer(Err(error.clone())),
            }
        }
    }

    fn may_wait(&mut self, error: &StoreError) -> bool {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        matches!(error, StoreError::Busy(_))
            && !self.context.is_closing.load(Ordering::Relaxed)
            && since.elapsed() < self.patience
    }

    async fn commit(&mut self, jobs: &mut [Box<dyn QueuedJob>]) -> Result<(), CommitFailure> {
        let since = Instant::now();
        loop {
            match self.attempt(jobs, since).await? {
                TransactionResult::Committed(chain) => {
                    self.chain = Some(chain);
                    return Ok(());
                }
                TransactionResult::Unknown => {
                    self.link = None;
                    self.is_in_doubt = true;
                    if self.was_committed(since).await.map_err(CommitFailure::in_doubt)? {
                        return Ok(());
                    }
                }
                TransactionResult::Nothing(error) if is_connection_lost(&error) => {
                    self.link = None;
                    self.check_patience(since, &error)?;
                }
                TransactionResult::Nothing(error) => {
                    self.rollback().await;
                    if !is_transient(&error) || jobs.len() > 1 {
                        return Err(CommitFailure::One(store_error(&error)));
                    }
                    self.check_patience(since, &error)?;
                    sleep(PAUSE.0).await;
                }
                TransactionResult::Broken(error) => {
                    self.rollback().await;
                    if self.lost_newest_commits(since).await? {
                        continue;
                    }
                    self.broken = Some(error.clone());
                    return Err(CommitFailure::All(error));
                }
            }
        }
    }

    async fn attempt(
        &mut self,
        jobs: &mut [Box<dyn QueuedJob>],
        since: Instant,
    ) -> Result<TransactionResult, CommitFailure> {
        if let Some(error) = &self.broken {
            return Err(CommitFailure::All(error.clone()));
        }
        if self.is_in_doubt {
            // These jobs were not part of the commit in doubt.
            self.was_committed(since).await?;
        }
        let is_new = self.draw_chain(since).await?;
        self.connect(since).await?;
        let (Some(link), Some(chain)) = (&self.link, &self.chain) else {
            return Err(CommitFailure::All(stopped()));
        };
        let mut is_committing = false;
        let work = transact(link, chain, is_new, jobs, self.full_delay, &mut is_committing);
        let ended = tokio::select! {
            biased;
            ended = timeout(TRANSACTION, work) => Some(ended.unwrap_or(TransactionResult::Unknown)),
            () = self.context.availability.away() => None,
        };
        match ended {
            Some(ended) => Ok(ended),
            None if is_committing => Ok(TransactionResult::Unknown),
            None => {
                // The server rolls back the uncommitted transaction.
                self.link = None;
                Err(self.away())
            }
        }
    }

    /// Rolls back. Drops a connection that cannot do that, or whose server is unavailable; the
    /// server then rolls back the uncommitted transaction.
    async fn rollback(&mut self) {
        let Some(link) = &self.link else { return };
        let is_done = tokio::select! {
            biased;
            ended = link.batch_execute("ROLLBACK") => ended.is_ok(),
            () = self.context.availability.away() => false,
        };
        if !is_done {
            self.link = None;
        }
    }

    /// Draws the number of this store's audit chain, once; `true` if it was drawn now.
    async fn draw_chain(&mut self, since: Instant) -> Result<bool, CommitFailure> {
        if self.chain.is_some() {
            return Ok(false);
        }
        // If the answer is lost, the drawn number belongs to a chain without records, which is
        // harmless.
        let row = self.first(DRAW, &[], since).await?;
        let number = row
            .and_then(|row| row.try_get(0).ok())
            .ok_or_else(|| CommitFailure::All(unreadable()))?;
        self.chain = Some(AuditChain::new(number));
        Ok(true)
    }

    /// Returns whether a commit without an answer succeeded. Updates the chain to its state in the
    /// database.
    async fn was_committed(&mut self, since: Instant) -> Result<bool, CommitFailure> {
        let Some(before) = self.chain.clone() else {
            self.is_in_doubt = false;
            return Ok(false);
        };
        let row = self.first(READ_BACK, &[&before.number], since).await?;
        let now = row
            .and_then(|row| before.read_back(&row))
            .ok_or_else(|| CommitFailure::All(unreadable()))?;
        self.is_in_doubt = false;
        let committed = now.turn > before.turn;
        self.chain = Some(now);
        Ok(committed)
    }

    /// Returns whether a server crash lost the newest asynchronous commits. The chain continues
    /// from the remaining ones.
    async fn lost_newest_commits(&mut self, since: Instant) -> Result<bool, CommitFailure> {
        let before = self.chain.as_ref().map(|chain| chain.turn);
        self.was_committed(since).await?;
        Ok(self.chain.as_ref().map(|chain| chain.turn) < before)
    }

    /// Runs one statement outside a transaction, with retries.
    async fn first(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
        since: Instant,
    ) -> Result<Option<Row>, CommitFailure> {
        loop {
            self.connect(since).await?;
            let Some(link) = &self.link else { continue };
            let answer = tokio::select! {
                biased;
                answer = link.query_optional(sql, params) => answer,
                () = self.context.availability.away() => {
                    self.link = None;
                    return Err(self.away());
                }
            };
            match answer {
                Ok(row) => return Ok(row),
                Err(error) => {
                    if is_connection_lost(&error) {
                        self.link = None;
                    } else if !is_transient(&error) {
                        return Err(CommitFailure::All(store_error(&error)));
                    }
                    self.check_patience(since, &error)?;
                }
            }
        }
    }

    async fn connect(&mut self, since: Instant) -> Result<(), CommitFailure> {
        let mut pause = PAUSE.0;
        if self.link.as_ref().is_some_and(Connection::is_closed) {
            self.link = None;
        }
        while self.link.is_none() {
            let opened = tokio::select! {
                biased;
                () = self.context.availability.away() => return Err(self.away()),
                opened = self.context.connector.open() => opened,
            };
            match opened {
                Ok(link) => self.link = Some(link),
                Err(error) => {
                    self.check_patience(since, &error)?;
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
        }
        Ok(())
    }

    fn away(&self) -> CommitFailure {
        CommitFailure::All(availability::away(self.context.connector.display_name()))
    }

    fn check_patience(&self, since: Instant, error: &Error) -> Result<(), CommitFailure> {
        if self.context.availability.is_away() {
            return Err(self.away());
        }
        let is_closing = self.context.is_closing.load(Ordering::Relaxed);
        let patience = if is_closing { self.patience.min(LAST_PATIENCE) } else { self.patience };
        if since.elapsed() < patience {
            return Ok(());
        }
        let words = format!(
            "the database {} is unreachable: {}; no record is lost, and calls work again when it is back",
            self.context.connector.display_name(),
            message(error)
        );
        Err(CommitFailure::All(StoreError::Busy(words)))
    }

    /// Returns the number of records without a checkpoint; 0 without a key.
    fn unsigned(&self) -> u64 {
        self.chain.as_ref().map_or(0, |chain| self.signing.uncovered(chain))
    }

    /// Signs the newest record if it is unsigned: first a row, then a line in the anchor file.
    async fn checkpoint(&mut self) -> Result<Option<AuditCheckpoint>, StoreError> {
        let Some(made) = self.chain.as_ref().and_then(|chain| self.signing.sign(chain)) else {
            return Ok(None);
        };
        self.store_checkpoint(&made).await?;
        self.signing.store_anchor(&made)?;
        Ok(Some(made))
    }

    async fn store_checkpoint(&mut self, made: &AuditCheckpoint) -> Result<(), StoreError> {
        let (tell, told) = std::sync::mpsc::channel();
        let answer = Box::new(move |result| drop(tell.send(result)));
        self.batch(vec![boxed(PutCheckpoint(made.clone()), answer)]).await;
        told.try_recv().unwrap_or_else(|_| Err(stopped()))
    }

    /// Signs the ends of chains whose processes died before signing them: until then, the newest
    /// records could be cut off unnoticed.
    async fn close_dead_chains(&mut self) -> Result<(), StoreError> {
        if !self.signing.has_key() || self.broken.is_some() {
            return Ok(());
        }
        let own = self.chain.as_ref().map_or(0, |chain| chain.number);
        self.connect(Instant::now()).await.map_err(CommitFailure::error)?;
        let Some(link) = &self.link else { return Ok(()) };
        let params: Params<'_> = &[&own];
        let rows = tokio::select! {
            biased;
            rows = link.query_once(DEAD_CHAINS, params) => rows,
            () = self.context.availability.away() => {
                self.link = None;
                return Err(self.away().error());
            }
        };
        for row in rows.map_err(|error| store_error(&error))? {
            let Some(closed) = self.signing.close(&row) else { continue };
            self.store_checkpoint(&closed).await?;
            self.signing.store_anchor_of_other(&closed)?;
        }
        Ok(())
    }
}

impl CommitFailure {
    /// Marks the failure as in doubt: the server has not reported whether it committed.
    fn in_doubt(self) -> Self {
        match self {
            Self::One(error) | Self::All(error) | Self::InDoubt(error) => Self::InDoubt(error),
        }
    }

    /// Returns the error of the database.
    fn cause(&self) -> &StoreError {
        match self {
            Self::One(error) | Self::All(error) | Self::InDoubt(error) => error,
        }
    }

    /// Returns the answer of a job that does not wait. Unlike after a busy store, the writes of a
    /// commit in doubt may have taken effect.
    fn error(self) -> StoreError {
        let cause = match self {
            Self::One(error) | Self::All(error) => return error,
            Self::InDoubt(error) => error,
        };
        let why = match cause {
            StoreError::Busy(why) | StoreError::Failed(why) => why,
            other => other.to_string(),
        };
        StoreError::Failed(format!("it is not known whether the last write was done: {why}"))
    }
}

fn unreadable() -> StoreError {
    StoreError::Failed(
        "the database does not know this store's own chain of the audit any more".into(),
    )
}
