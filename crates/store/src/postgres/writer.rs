//! The one task that writes: takes what is queued, commits it together, then answers. It reconnects, and finds out what became of a commit
//! whose connection was cut, before anything is done again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_postgres::{Error, Row};
use toolcrib_core::audit::{CHECKPOINT_RECORDS, CHECKPOINT_SECONDS};
use toolcrib_core::{AuditCheckpoint, StoreError};

use super::chain::Chain;
use super::error::{is_lost, is_passing, stopped, store_error, words};
use super::job::{Queued, Tell, queued};
use super::link::{Connector, Link, Params};
use super::rows::audit::PutCheckpoint;
use super::signing::Signing;
use super::transaction::{Ended, transact};
use crate::StoreOptions;

/// Writes that share one commit.
const BATCH: usize = 256;
/// How long a write waits for a server that cannot be reached, such as one that starts again.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same when the store is being closed.
const LAST_PATIENCE: Duration = Duration::from_secs(3);
/// How long one transaction may take before its connection counts as cut.
const TRANSACTION: Duration = Duration::from_secs(90);
/// How long a commit waits for more to do, at most.
const LONGEST_WAIT: Duration = Duration::from_millis(2);
/// Between tries to connect, the first and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

const DRAW: &str = "INSERT INTO chains (chain) VALUES (nextval('epochs')) RETURNING chain";
/// Waits until the transaction that is looked for has ended, whichever way: it holds this row.
const READ_BACK: &str = "SELECT seq, head, turn FROM chains WHERE chain = $1 FOR UPDATE";

/// What the writer is asked for.
pub(super) enum Command {
    Write(Box<dyn Queued>),
    Checkpoint(Tell<Option<AuditCheckpoint>>),
}

/// The writer's side.
pub(super) struct Writer {
    connector: Connector,
    link: Option<Link>,
    chain: Option<Chain>,
    /// The connection went during a commit: how the chain stands has to be read back before anything else is written.
    is_in_doubt: bool,
    pace: Pace,
    signing: Signing,
    /// Waited before each commit that survives the loss of power, by tests.
    full_delay: Duration,
    /// How long a write waits for a server that cannot be reached.
    patience: Duration,
    /// Nothing is written any more.
    broken: Option<StoreError>,
    is_closing: Arc<AtomicBool>,
}

/// How the newest commit went. Whoever was answered by it often asks for the next write at once; a commit that takes long is worth waiting
/// a little for them, so that they share the next one instead of waiting for two.
#[derive(Default)]
struct Pace {
    jobs: usize,
    took: Duration,
}

impl Pace {
    /// At most a quarter of what a commit takes. One that was alone is not waited for.
    fn wait(&self) -> Duration {
        if self.jobs > 1 { (self.took / 4).min(LONGEST_WAIT) } else { Duration::ZERO }
    }
}

/// Why jobs were not done.
enum NotDone {
    /// Something in one of them; the others may well be done.
    One(StoreError),
    /// Nothing can be done now.
    All(StoreError),
}

impl Writer {
    pub(super) fn new(
        connector: Connector,
        link: Link,
        options: StoreOptions,
        is_closing: Arc<AtomicBool>,
    ) -> Self {
        Self {
            connector,
            link: Some(link),
            chain: None,
            is_in_doubt: false,
            pace: Pace::default(),
            signing: Signing::new(options.signer, options.anchors),
            full_delay: options.full_commit_delay,
            patience: options.busy.unwrap_or(PATIENCE),
            broken: None,
            is_closing,
        }
    }

    /// Works until the queue is closed; then signs what is new.
    pub(super) async fn run(mut self, mut queue: UnboundedReceiver<Command>) {
        let mut due: Option<Instant> = None;
        loop {
            let asked = tokio::select! {
                asked = queue.recv() => match asked {
                    Some(asked) => Some(asked),
                    None => break,
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => None,
            };
            let is_due = asked.is_none();
            if let Some(asked) = asked {
                self.commands(asked, &mut queue).await;
            }
            if is_due || self.unsigned() >= CHECKPOINT_RECORDS {
                // One that fails is made when the next is due.
                let _ = self.checkpoint().await;
                due = None;
            }
            due = match self.unsigned() {
                0 => None,
                _ => due.or_else(|| Some(Instant::now() + Duration::from_secs(CHECKPOINT_SECONDS))),
            };
        }
        let _ = self.checkpoint().await;
    }

    /// Everything that is queued now, in order.
    async fn commands(&mut self, first: Command, queue: &mut UnboundedReceiver<Command>) {
        let mut next = Some(first);
        let mut jobs = Vec::new();
        let until = Instant::now() + self.pace.wait();
        while let Some(command) = next {
            match command {
                Command::Write(job) => jobs.push(job),
                Command::Checkpoint(tell) => {
                    self.batch(std::mem::take(&mut jobs)).await;
                    tell(self.checkpoint().await);
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

    /// Does these jobs in one transaction; if something in one of them stops it, each in its own.
    async fn batch(&mut self, mut jobs: Vec<Box<dyn Queued>>) {
        if jobs.is_empty() {
            return;
        }
        let (began, count) = (Instant::now(), jobs.len());
        let done = self.commit(&mut jobs).await;
        self.pace = Pace { jobs: count, took: began.elapsed() };
        match done {
            Ok(()) => jobs.into_iter().for_each(|job| job.answer(Ok(()))),
            Err(NotDone::One(_)) if jobs.len() > 1 => {
                for job in jobs {
                    let mut alone = [job];
                    let result = self.commit(&mut alone).await;
                    let [job] = alone;
                    job.answer(result.map_err(NotDone::error));
                }
            }
            Err(error) => {
                let error = error.error();
                jobs.into_iter().for_each(|job| job.answer(Err(error.clone())));
            }
        }
    }

    async fn commit(&mut self, jobs: &mut [Box<dyn Queued>]) -> Result<(), NotDone> {
        let since = Instant::now();
        loop {
            match self.attempt(jobs, since).await? {
                Ended::Committed(chain) => {
                    self.chain = Some(chain);
                    return Ok(());
                }
                Ended::Unknown => {
                    self.link = None;
                    self.is_in_doubt = true;
                    if self.was_committed(since).await? {
                        return Ok(());
                    }
                }
                Ended::Nothing(error) if is_lost(&error) => {
                    self.link = None;
                    self.check_patience(since, &error)?;
                }
                Ended::Nothing(error) => {
                    self.take_back().await;
                    if !is_passing(&error) || jobs.len() > 1 {
                        return Err(NotDone::One(store_error(&error)));
                    }
                    self.check_patience(since, &error)?;
                    sleep(PAUSE.0).await;
                }
                Ended::Broken(error) => {
                    self.take_back().await;
                    if self.fell_back(since).await? {
                        continue;
                    }
                    self.broken = Some(error.clone());
                    return Err(NotDone::All(error));
                }
            }
        }
    }

    async fn attempt(
        &mut self,
        jobs: &mut [Box<dyn Queued>],
        since: Instant,
    ) -> Result<Ended, NotDone> {
        if let Some(error) = &self.broken {
            return Err(NotDone::All(error.clone()));
        }
        if self.is_in_doubt {
            // These jobs were not part of it.
            self.was_committed(since).await?;
        }
        let is_new = self.draw_chain(since).await?;
        self.connect(since).await?;
        let (Some(link), Some(chain)) = (&self.link, &self.chain) else {
            return Err(NotDone::All(stopped()));
        };
        let work = transact(link, chain, is_new, jobs, self.full_delay);
        Ok(timeout(TRANSACTION, work).await.unwrap_or(Ended::Unknown))
    }

    /// Takes the transaction back; a connection that cannot even do that is of no more use.
    async fn take_back(&mut self) {
        if let Some(link) = &self.link
            && link.run("ROLLBACK").await.is_err()
        {
            self.link = None;
        }
    }

    /// A chain of this store's own, drawn once; `true` = it was drawn now.
    async fn draw_chain(&mut self, since: Instant) -> Result<bool, NotDone> {
        if self.chain.is_some() {
            return Ok(false);
        }
        // A number that was drawn without our knowing is a chain without records: nobody sees it.
        let row = self.first(DRAW, &[], since).await?;
        let number =
            row.and_then(|row| row.try_get(0).ok()).ok_or_else(|| NotDone::All(unreadable()))?;
        self.chain = Some(Chain::new(number));
        Ok(true)
    }

    /// Whether a commit whose answer did not come was done; the chain stands as it is in the database then.
    async fn was_committed(&mut self, since: Instant) -> Result<bool, NotDone> {
        let Some(before) = self.chain.clone() else {
            self.is_in_doubt = false;
            return Ok(false);
        };
        let row = self.first(READ_BACK, &[&before.number], since).await?;
        let now =
            row.and_then(|row| before.read_back(&row)).ok_or_else(|| NotDone::All(unreadable()))?;
        self.is_in_doubt = false;
        let committed = now.turn > before.turn;
        self.chain = Some(now);
        Ok(committed)
    }

    /// Whether the server went down and took the newest quick commits with it: the chain goes on from what is left of it then.
    async fn fell_back(&mut self, since: Instant) -> Result<bool, NotDone> {
        let before = self.chain.as_ref().map(|chain| chain.turn);
        self.was_committed(since).await?;
        Ok(self.chain.as_ref().map(|chain| chain.turn) < before)
    }

    /// One statement outside of a transaction, as often as it takes.
    async fn first(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
        since: Instant,
    ) -> Result<Option<Row>, NotDone> {
        loop {
            self.connect(since).await?;
            let Some(link) = &self.link else { continue };
            match link.first(sql, params).await {
                Ok(row) => return Ok(row),
                Err(error) => {
                    if is_lost(&error) {
                        self.link = None;
                    } else if !is_passing(&error) {
                        return Err(NotDone::All(store_error(&error)));
                    }
                    self.check_patience(since, &error)?;
                }
            }
        }
    }

    async fn connect(&mut self, since: Instant) -> Result<(), NotDone> {
        let mut pause = PAUSE.0;
        if self.link.as_ref().is_some_and(Link::is_closed) {
            self.link = None;
        }
        while self.link.is_none() {
            match self.connector.link().await {
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

    fn check_patience(&self, since: Instant, error: &Error) -> Result<(), NotDone> {
        let is_closing = self.is_closing.load(Ordering::Relaxed);
        let patience = if is_closing { self.patience.min(LAST_PATIENCE) } else { self.patience };
        if since.elapsed() < patience {
            return Ok(());
        }
        let words =
            format!("the database {} is out of reach: {}", self.connector.place(), words(error));
        Err(NotDone::All(StoreError::Busy(words)))
    }

    /// Records that no checkpoint covers; 0 without a key.
    fn unsigned(&self) -> u64 {
        self.chain.as_ref().map_or(0, |chain| self.signing.uncovered(chain))
    }

    /// Signs the newest record, if it is not signed yet: first a row, then a line in the file outside.
    async fn checkpoint(&mut self) -> Result<Option<AuditCheckpoint>, StoreError> {
        let Some(made) = self.chain.as_ref().and_then(|chain| self.signing.sign(chain)) else {
            return Ok(None);
        };
        let (tell, told) = std::sync::mpsc::channel();
        let answer = Box::new(move |result| drop(tell.send(result)));
        self.batch(vec![queued(PutCheckpoint(made.clone()), answer)]).await;
        told.try_recv().unwrap_or_else(|_| Err(stopped()))?;
        self.signing.keep(&made)?;
        Ok(Some(made))
    }
}

impl NotDone {
    fn error(self) -> StoreError {
        match self {
            Self::One(error) | Self::All(error) => error,
        }
    }
}

fn unreadable() -> StoreError {
    StoreError::Failed(
        "the database does not know this store's own chain of the audit any more".into(),
    )
}
