//! The loop of the writer thread: batches, transactions, a full disk, missing files, and audit
//! checkpoints.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use toolcrib_core::{AuditCheckpoint, StoreError};

use super::job::{Completion, Durability, Job, OnFullDisk, WorkResult};
use super::{Message, Settings};
use crate::audit_checkpoints::CheckpointSigner;
use crate::db_files::DatabaseFiles;
use crate::disk_reserve::DiskReserve;
use crate::error::{disk_full, is_disk_failure, is_full_error, sqlite_failed};
use crate::failpoint;
use crate::health::Health;

/// Jobs per commit, so that the database is not locked for long.
const BATCH: usize = 256;
/// How often the idle thread checks its files: a missing file must be noticed within 5 s.
const TICK: Duration = Duration::from_secs(2);
/// How long the result of a file check is valid.
const BELIEVED: Duration = Duration::from_secs(1);
/// How often the thread retries after a full disk: writes must work again within 5 s after space is
/// available.
const ASK_FOR_ROOM: Duration = Duration::from_millis(250);
/// Waiting for further jobs takes at most this fraction of the last synced commit: callers that
/// shared that commit were answered together and will soon write again.
const GATHER_PART: u32 = 8;
const GATHER_MOST: Duration = Duration::from_millis(1);
/// How long an unawaited write waits for further jobs. The process may be killed in that time
/// either way, and a read in this process does not wait for it.
const PATIENCE: Duration = Duration::from_micros(500);
/// Maximum number of outcomes stored for a retry. Further ones are lost when the process ends.
const MAX_RETRIED_JOBS: usize = 10_000;
/// Error of the other jobs when one made SQLite roll back the whole transaction.
const TAKEN_BACK: &str = "a write of the same commit failed and rolled back all of it";

/// State of the writer thread.
pub(super) struct CommitLoop {
    conn: Connection,
    /// Current `synchronous` setting; `None` if not set yet.
    sync: Option<Durability>,
    health: Arc<Health>,
    disk: Option<Disk>,
    notary: Option<CheckpointSigner>,
    full_commit_delay: Duration,
    /// Outcomes that failed because the database was locked or full. Their callers were answered;
    /// only this process can still write them.
    kept: Vec<Job>,
    /// Number of jobs and duration of the last synced commit.
    last_full: (usize, Duration),
}

struct Disk {
    place: Arc<DatabaseFiles>,
    reserve: DiskReserve,
    looked: Instant,
    asked: Instant,
}

impl CommitLoop {
    pub(super) fn new(conn: Connection, settings: Settings) -> Self {
        let Settings { health, disk, notary, full_commit_delay, helpers: _ } = settings;
        let now = Instant::now();
        let disk = disk.map(|(place, reserve)| Disk { place, reserve, looked: now, asked: now });
        let last_full = (1, Duration::ZERO);
        let kept = Vec::new();
        Self { conn, sync: None, health, disk, notary, full_commit_delay, kept, last_full }
    }

    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        self.reserve_space();
        let mut carried = None;
        loop {
            let next = match carried.take() {
                Some(message) => Ok(message),
                None => messages.recv_timeout(TICK),
            };
            match next {
                Ok(Message::Job(job)) => carried = self.batch(job, messages),
                Ok(Message::Seal(answer)) => answer(self.sign_checkpoint(true)),
                Err(RecvTimeoutError::Timeout) => {
                    self.check_files(Duration::ZERO);
                    let _ = self.retry_kept_jobs();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // A failed checkpoint is retried later; `audit verify` shows how far the last one
            // reaches.
            let _ = self.sign_checkpoint(false);
        }
        let _ = self.retry_kept_jobs();
        let _ = self.sign_checkpoint(true);
    }

    /// Reserves space before the first write: without the reserve, a call that may change something
    /// could run and then have no space for its outcome.
    fn reserve_space(&mut self) {
        let Some(disk) = &self.disk else { return };
        if disk.reserve.create().is_err_and(|error| is_full_error(&error)) {
            self.health.set_disk_full(Some(disk_full()));
        }
    }

    /// Retries stored outcomes in a separate transaction: if there is still no space, no other job
    /// fails with them.
    fn retry_kept_jobs(&mut self) -> Result<(), StoreError> {
        if self.kept.is_empty() || self.health.fatal_error().is_some() {
            return Ok(());
        }
        let kept = std::mem::take(&mut self.kept);
        self.write(kept, None)
    }

    /// Performs one commit. Returns a message that was received but belongs to a later one.
    fn batch(&mut self, first: Job, messages: &Receiver<Message>) -> Option<Message> {
        let mut queue = Queue { messages, carried: None };
        let mut jobs = vec![first];
        queue.take(&mut jobs);
        queue.wait_with_the_patient(&mut jobs);
        if self.required_durability(&jobs) == Durability::PowerLoss {
            self.gather(&mut jobs, &mut queue);
        }
        let jobs = self.admitted(jobs);
        if jobs.is_empty() {
            return queue.carried;
        }
        // Write older outcomes first: the end of a claim must not precede the outcomes under it.
        match self.retry_kept_jobs() {
            // Do not wait for the lock a second time.
            Err(busy @ StoreError::Busy(_)) => {
                jobs.into_iter().for_each(|job| self.close(job, Err(busy.clone())));
            }
            _ => drop(self.write(jobs, Some(&mut queue))),
        }
        queue.carried
    }

    /// Writes the jobs in one commit, and those that needed the reserve in a second one; answers
    /// them.
    fn write(
        &mut self,
        mut jobs: Vec<Job>,
        queue: Option<&mut Queue<'_>>,
    ) -> Result<(), StoreError> {
        let mut ran = Vec::with_capacity(jobs.len());
        let committed = self.transaction(&mut jobs, &mut ran, queue);
        let mut again = self.answer(ran, &committed);
        if again.is_empty() {
            return committed;
        }
        let mut ran = Vec::with_capacity(again.len());
        let committed = self.transaction(&mut again, &mut ran, None);
        ran.into_iter().for_each(|(job, _)| self.close(job, committed.clone()));
        committed
    }

    /// Answers a job, and stores an outcome for a retry. A broken store retries nothing.
    fn close(&mut self, mut job: Job, committed: Result<(), StoreError>) {
        let closed = job.answer(committed);
        let keeps = closed == Completion::Retry
            && job.on_full_disk == OnFullDisk::Keep
            && self.health.fatal_error().is_none();
        if keeps && self.kept.len() < MAX_RETRIED_JOBS {
            self.kept.push(job);
        }
    }

    fn required_durability(&self, jobs: &[Job]) -> Durability {
        jobs.iter().map(|job| job.survives).max().unwrap_or(Durability::ProcessCrash)
    }

    /// Waits briefly for the callers of the last synced commit: they were answered together and
    /// write again at about the same time.
    fn gather(&self, jobs: &mut Vec<Job>, queue: &mut Queue<'_>) {
        let (expected, took) = self.last_full;
        let until = Instant::now() + (took / GATHER_PART).min(GATHER_MOST);
        while jobs.len() < expected.min(BATCH) && queue.carried.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !queue.wait(jobs, left) {
                break;
            }
        }
    }

    /// Refuses jobs that cannot be written now.
    fn admitted(&mut self, jobs: Vec<Job>) -> Vec<Job> {
        self.check_files(BELIEVED);
        let refusal = self.health.fatal_error().cloned();
        let full = self.full();
        let refused = |job: &Job| {
            refusal.is_some() || (full.is_some() && job.on_full_disk == OnFullDisk::Refuse)
        };
        let (refused, admitted): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(refused);
        if let Some(error) = refusal.or(full) {
            for job in refused {
                job.refuse(&error);
            }
        }
        admitted
    }

    /// Returns the error if the disk is still full.
    fn full(&mut self) -> Option<StoreError> {
        let full = self.health.disk_full_error()?;
        if let Some(disk) = &mut self.disk
            && disk.asked.elapsed() < ASK_FOR_ROOM
        {
            return Some(full);
        }
        let has_room = self.disk.as_mut().is_none_or(|disk| {
            disk.asked = Instant::now();
            disk.reserve.create().is_ok()
        });
        if has_room {
            self.health.set_disk_full(None);
        }
        (!has_room).then_some(full)
    }

    /// Checks that the files exist at their paths, unless that was done a moment ago; checks a full
    /// disk for space.
    fn check_files(&mut self, believed: Duration) {
        let Some(disk) = &mut self.disk else { return };
        if self.health.fatal_error().is_none() && disk.looked.elapsed() >= believed {
            disk.looked = Instant::now();
            if let Err(words) = disk.place.check() {
                self.health.mark_missing(words);
            }
        }
        if believed.is_zero() {
            self.full();
        }
    }

    /// Answers the jobs of a transaction; returns those to retry now that the reserve is released.
    fn answer(&mut self, ran: Vec<(Job, bool)>, committed: &Result<(), StoreError>) -> Vec<Job> {
        let is_full = matches!(committed, Err(StoreError::Full(_)));
        let freed = (is_full || ran.iter().any(|(_, full)| *full)) && self.give_up_reserve();
        let mut again = Vec::new();
        for (job, was_full) in ran {
            let may_use = job.on_full_disk >= OnFullDisk::UseReserve;
            if freed && may_use && (is_full || was_full) {
                again.push(job);
            } else {
                self.close(job, committed.clone());
            }
        }
        again
    }

    fn give_up_reserve(&mut self) -> bool {
        self.health.set_disk_full(Some(disk_full()));
        let Some(disk) = &mut self.disk else { return false };
        disk.asked = Instant::now();
        disk.reserve.release()
    }

    /// Runs jobs, and those that arrive meanwhile, in one transaction. All of them are added to
    /// `ran`, each with a flag whether it found the disk full.
    fn transaction(
        &mut self,
        jobs: &mut Vec<Job>,
        ran: &mut Vec<(Job, bool)>,
        mut queue: Option<&mut Queue<'_>>,
    ) -> Result<(), StoreError> {
        let level = self.required_durability(jobs);
        let mut failed = self.begin(level).map_err(|e| self.note(&e)).err();
        loop {
            for mut job in jobs.drain(..) {
                let mut full = false;
                if failed.is_none() {
                    (full, failed) = self.run_in_savepoint(&mut job);
                }
                ran.push((job, full));
            }
            let Some(queue) = queue.as_mut().filter(|_| failed.is_none() && ran.len() < BATCH)
            else {
                break;
            };
            queue.take_up_to(jobs, level, BATCH - ran.len());
            if jobs.is_empty() {
                break;
            }
        }
        let committed = match failed {
            None => self.commit(level, ran.len()),
            Some(error) => Err(error),
        };
        if committed.is_err() && !self.conn.is_autocommit() {
            // If the rollback fails, the next BEGIN fails too and reports it.
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        committed
    }

    /// Begins a transaction with the write lock. `synchronous` can only be set between
    /// transactions.
    fn begin(&mut self, wanted: Durability) -> rusqlite::Result<()> {
        if self.sync != Some(wanted) {
            self.conn.execute_batch(match wanted {
                Durability::ProcessCrash => "PRAGMA synchronous = NORMAL",
                Durability::PowerLoss => "PRAGMA synchronous = FULL",
            })?;
            self.sync = Some(wanted);
        }
        self.statement("BEGIN IMMEDIATE")
    }

    fn commit(&mut self, level: Durability, jobs: usize) -> Result<(), StoreError> {
        failpoint::hit("commit");
        let start = Instant::now();
        let is_full = level == Durability::PowerLoss;
        if is_full && !self.full_commit_delay.is_zero() {
            std::thread::sleep(self.full_commit_delay);
        }
        self.statement("COMMIT").map_err(|e| self.note(&e))?;
        if is_full {
            self.last_full = (jobs, start.elapsed());
        }
        self.health.committed(is_full);
        // WAL checkpoints run on other threads and inside this call too: a disk failure there does
        // not show whether this commit succeeded.
        match self.health.fatal_error() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn statement(&self, sql: &str) -> rusqlite::Result<()> {
        self.conn.prepare_cached(sql)?.execute([]).map(drop)
    }

    /// Runs one job in a savepoint. Returns whether it found the disk full, and an error that
    /// affects the whole transaction.
    fn run_in_savepoint(&mut self, job: &mut Job) -> (bool, Option<StoreError>) {
        if let Err(e) = self.statement("SAVEPOINT job") {
            return (false, Some(self.note(&e)));
        }
        let ran = job.run(&self.conn);
        let full = matches!(ran, WorkResult::DiskFull);
        if let WorkResult::Broken(error) = ran {
            self.health.fail(error.clone());
            return (full, Some(error));
        }
        if self.conn.is_autocommit() {
            // Out of memory or disk space, SQLite may roll back the whole transaction.
            let error = match full {
                true => StoreError::Full("the commit was rolled back".to_owned()),
                false => StoreError::Failed(TAKEN_BACK.to_owned()),
            };
            return (full, Some(error));
        }
        let end = match ran {
            WorkResult::Written => self.statement("RELEASE job"),
            _ => self.conn.execute_batch("ROLLBACK TO job; RELEASE job"),
        };
        (full, end.map_err(|e| self.note(&e)).err())
    }

    /// Maps an error; a disk failure is permanent.
    fn note(&mut self, error: &rusqlite::Error) -> StoreError {
        let words = sqlite_failed(error);
        if is_disk_failure(error) {
            self.health.fail(words.clone());
        }
        words
    }

    /// Signs the newest audit record if it is due, or if `now` is set.
    fn sign_checkpoint(&mut self, now: bool) -> Result<Option<AuditCheckpoint>, StoreError> {
        let Some(mut notary) = self.notary.take() else { return Ok(None) };
        let sealed = self.seal_with(&mut notary, now);
        self.notary = Some(notary);
        sealed
    }

    fn seal_with(
        &mut self,
        notary: &mut CheckpointSigner,
        now: bool,
    ) -> Result<Option<AuditCheckpoint>, StoreError> {
        if let Some(error) = self.health.fatal_error().cloned().or_else(|| self.full()) {
            return Err(error);
        }
        if !notary.is_due(&self.conn, now)? {
            return Ok(None);
        }
        // An anchored checkpoint must survive a power loss, or the audit would look truncated.
        self.begin(Durability::PowerLoss).map_err(|e| self.note(&e))?;
        let made = notary.sign(&self.conn, now);
        let committed = match &made {
            Ok(Some(_)) => self.commit(Durability::PowerLoss, 1),
            _ => Ok(()),
        };
        if !self.conn.is_autocommit() {
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        let made = made.map_err(StoreError::from)?;
        committed?;
        if let Some(made) = &made {
            notary.anchor(made)?;
        }
        Ok(made)
    }
}

/// The queue, with one message of lookahead.
struct Queue<'a> {
    messages: &'a Receiver<Message>,
    /// The first job that belongs to a later commit.
    carried: Option<Message>,
}

impl Queue<'_> {
    /// Takes everything that is queued.
    fn take(&mut self, jobs: &mut Vec<Job>) {
        self.take_up_to(jobs, Durability::PowerLoss, BATCH - jobs.len());
    }

    /// Takes at most `most` queued jobs, as long as they need no higher durability than `level`.
    fn take_up_to(&mut self, jobs: &mut Vec<Job>, level: Durability, most: usize) {
        for _ in 0..most {
            if self.carried.is_some() {
                return;
            }
            match self.messages.try_recv() {
                Ok(Message::Job(job)) if job.survives <= level => jobs.push(job),
                Ok(later) => self.carried = Some(later),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
            }
        }
    }

    /// Waits a moment for further jobs if all are unawaited: the outcome of a quick call follows
    /// its intent at once.
    fn wait_with_the_patient(&mut self, jobs: &mut Vec<Job>) {
        let until = Instant::now() + PATIENCE;
        while jobs.iter().all(|job| job.is_patient) && jobs.len() < BATCH && self.carried.is_none()
        {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.wait(jobs, left) {
                return;
            }
        }
    }

    /// Waits for one more job and takes what is queued then; `false` if none came.
    fn wait(&mut self, jobs: &mut Vec<Job>, limit: Duration) -> bool {
        match self.messages.recv_timeout(limit) {
            Ok(Message::Job(job)) => {
                jobs.push(job);
                self.take(jobs);
                true
            }
            Ok(later) => {
                self.carried = Some(later);
                false
            }
            Err(_) => false,
        }
    }
}
