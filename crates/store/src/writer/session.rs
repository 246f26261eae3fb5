//! The thread's side: batches, transactions, a disk that is full, files that are gone, and the audit's checkpoints.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use toolcrib_core::{AuditCheckpoint, StoreError};

use super::job::{Closed, Job, Ran, Survives};
use super::{Message, Settings};
use crate::error::{is_disk_failure, sqlite_failed};
use crate::failpoint;
use crate::health::Health;
use crate::notary::Notary;
use crate::place::Place;
use crate::reserve::Reserve;

/// Writes that share one commit, so that the database is not locked for long.
const BATCH: usize = 256;
/// How often the thread looks after itself while there is nothing to write (reliability D4: what is wrong is found within 5 s).
const TICK: Duration = Duration::from_secs(2);
/// How long what was seen of the files is believed.
const BELIEVED: Duration = Duration::from_secs(1);
/// How often a full disk is asked for room (reliability D1: writing works again within 5 s).
const ASK_FOR_ROOM: Duration = Duration::from_millis(250);
/// A synced commit takes long; up to this part of the last one is spent on waiting for those that were in it and will write again.
const GATHER_PART: u32 = 8;
const GATHER_MOST: Duration = Duration::from_millis(1);
/// How long a write that nobody waits for waits for another one. It is there when its process is killed a moment later, or it is not; whoever
/// asks for it in this process does not wait.
const PATIENCE: Duration = Duration::from_micros(500);
/// Outcomes that could not be written and are kept until they can be; of more, nothing is known when this process has ended.
const KEPT: usize = 10_000;
/// What the others are told when one write made SQLite give up the whole transaction.
const TAKEN_BACK: &str = "a write of the same commit failed and took back all of it";

/// The thread's own state.
pub(super) struct Session {
    conn: Connection,
    /// What the connection is set to; `None` = not set yet.
    sync: Option<Survives>,
    health: Arc<Health>,
    disk: Option<Disk>,
    notary: Option<Notary>,
    full_commit_delay: Duration,
    /// Outcomes that found the database locked or full: whoever waited for them has been told, and nobody else could ever write them.
    kept: Vec<Job>,
    /// Jobs of the last synced commit, and how long that took.
    last_full: (usize, Duration),
}

struct Disk {
    place: Arc<Place>,
    reserve: Reserve,
    looked: Instant,
    asked: Instant,
}

impl Session {
    pub(super) fn new(conn: Connection, settings: Settings) -> Self {
        let Settings { health, disk, notary, full_commit_delay, helpers: _ } = settings;
        let now = Instant::now();
        let disk = disk.map(|(place, reserve)| Disk { place, reserve, looked: now, asked: now });
        let last_full = (1, Duration::ZERO);
        let kept = Vec::new();
        Self { conn, sync: None, health, disk, notary, full_commit_delay, kept, last_full }
    }

    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        let mut carried = None;
        loop {
            let next = match carried.take() {
                Some(message) => Ok(message),
                None => messages.recv_timeout(TICK),
            };
            match next {
                Ok(Message::Job(job)) => carried = self.batch(job, messages),
                Ok(Message::Seal(answer)) => answer(self.seal(true)),
                Err(RecvTimeoutError::Timeout) => {
                    self.look(Duration::ZERO);
                    let _ = self.write_kept();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // One that cannot be made now is made later, and `audit verify` shows how far the last one reaches.
            let _ = self.seal(false);
        }
        let _ = self.write_kept();
        let _ = self.seal(true);
    }

    /// Tries again to write the outcomes that are kept. They go in a transaction of their own, so that they take down nothing else when there
    /// still is no room.
    fn write_kept(&mut self) -> Result<(), StoreError> {
        if self.kept.is_empty() || self.health.broken().is_some() {
            return Ok(());
        }
        let kept = std::mem::take(&mut self.kept);
        self.write(kept, None)
    }

    /// One commit. Returns what was taken from the queue and belongs to a later one.
    fn batch(&mut self, first: Job, messages: &Receiver<Message>) -> Option<Message> {
        let mut queue = Queue { messages, carried: None };
        let mut jobs = vec![first];
        queue.take(&mut jobs);
        queue.wait_with_the_patient(&mut jobs);
        if self.wanted(&jobs) == Survives::PowerLoss {
            self.gather(&mut jobs, &mut queue);
        }
        let jobs = self.admitted(jobs);
        if jobs.is_empty() {
            return queue.carried;
        }
        // First what is older: the end of a claim must not come before the outcomes under it.
        match self.write_kept() {
            // Nobody waits for the lock twice.
            Err(busy @ StoreError::Busy(_)) => {
                jobs.into_iter().for_each(|job| self.close(job, Err(busy.clone())));
            }
            _ => drop(self.write(jobs, Some(&mut queue))),
        }
        queue.carried
    }

    /// Writes jobs in one commit, and in a second one those for which the reserve had to be given up; answers them.
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

    /// Answers a job, and keeps an outcome that may be written later. A store that is broken writes nothing any more.
    fn close(&mut self, mut job: Job, committed: Result<(), StoreError>) {
        let closed = job.answer(committed);
        let keeps = closed == Closed::No && job.is_outcome && self.health.broken().is_none();
        if keeps && self.kept.len() < KEPT {
            self.kept.push(job);
        }
    }

    fn wanted(&self, jobs: &[Job]) -> Survives {
        jobs.iter().map(|job| job.survives).max().unwrap_or(Survives::Kill)
    }

    /// Waits a little for those that shared the last synced commit: they were answered together, and write again at about the same time.
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

    /// Refuses what cannot be written now.
    fn admitted(&mut self, jobs: Vec<Job>) -> Vec<Job> {
        self.look(BELIEVED);
        let refusal = self.health.broken().cloned();
        let full = self.full();
        let refused = |job: &Job| refusal.is_some() || (full.is_some() && !job.is_outcome);
        let (refused, admitted): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(refused);
        if let Some(error) = refusal.or(full) {
            for job in refused {
                job.refuse(&error);
            }
        }
        admitted
    }

    /// Why there is no room, if there still is none.
    fn full(&mut self) -> Option<StoreError> {
        let full = self.health.full()?;
        if let Some(disk) = &mut self.disk
            && disk.asked.elapsed() < ASK_FOR_ROOM
        {
            return Some(full);
        }
        let has_room = self.disk.as_mut().is_none_or(|disk| {
            disk.asked = Instant::now();
            disk.reserve.make().is_ok()
        });
        if has_room {
            self.health.set_full(None);
        }
        (!has_room).then_some(full)
    }

    /// Looks whether the files are still there, unless that was seen a moment ago; asks a full disk for room.
    fn look(&mut self, believed: Duration) {
        let Some(disk) = &mut self.disk else { return };
        if self.health.broken().is_none() && disk.looked.elapsed() >= believed {
            disk.looked = Instant::now();
            if let Err(words) = disk.place.check() {
                self.health.lose(words);
            }
        }
        if believed.is_zero() {
            self.full();
        }
    }

    /// Answers the jobs of a transaction; those that have to be tried again, now that the reserve is given up, are returned.
    fn answer(&mut self, ran: Vec<(Job, bool)>, committed: &Result<(), StoreError>) -> Vec<Job> {
        let is_full = matches!(committed, Err(StoreError::Full(_)));
        let freed = (is_full || ran.iter().any(|(_, full)| *full)) && self.give_up_reserve();
        let mut again = Vec::new();
        for (job, was_full) in ran {
            if freed && job.is_outcome && (is_full || was_full) {
                again.push(job);
            } else {
                self.close(job, committed.clone());
            }
        }
        again
    }

    fn give_up_reserve(&mut self) -> bool {
        let words = "new calls are refused until there is room";
        self.health.set_full(Some(StoreError::Full(words.to_owned())));
        let Some(disk) = &mut self.disk else { return false };
        disk.asked = Instant::now();
        disk.reserve.give_up()
    }

    /// Runs jobs, and what arrives meanwhile, in one transaction. All of them go to `ran`, each with whether it found no room.
    fn transaction(
        &mut self,
        jobs: &mut Vec<Job>,
        ran: &mut Vec<(Job, bool)>,
        mut queue: Option<&mut Queue<'_>>,
    ) -> Result<(), StoreError> {
        let level = self.wanted(jobs);
        let mut failed = self.begin(level).map_err(|e| self.note(&e)).err();
        loop {
            for mut job in jobs.drain(..) {
                let mut full = false;
                if failed.is_none() {
                    (full, failed) = self.one(&mut job);
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
            // If even this fails, the next BEGIN fails too, and says so.
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        committed
    }

    /// Takes the write lock. How the commit is synced can only be set between transactions.
    fn begin(&mut self, wanted: Survives) -> rusqlite::Result<()> {
        if self.sync != Some(wanted) {
            self.conn.execute_batch(match wanted {
                Survives::Kill => "PRAGMA synchronous = NORMAL",
                Survives::PowerLoss => "PRAGMA synchronous = FULL",
            })?;
            self.sync = Some(wanted);
        }
        self.statement("BEGIN IMMEDIATE")
    }

    fn commit(&mut self, level: Survives, jobs: usize) -> Result<(), StoreError> {
        failpoint::hit("commit");
        let start = Instant::now();
        let is_full = level == Survives::PowerLoss;
        if is_full && !self.full_commit_delay.is_zero() {
            std::thread::sleep(self.full_commit_delay);
        }
        self.statement("COMMIT").map_err(|e| self.note(&e))?;
        if is_full {
            self.last_full = (jobs, start.elapsed());
        }
        self.health.committed(is_full);
        // The log is folded into the file on other threads, and also in here: a disk that failed there says nothing about this commit.
        match self.health.broken() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn statement(&self, sql: &str) -> rusqlite::Result<()> {
        self.conn.prepare_cached(sql)?.execute([]).map(drop)
    }

    /// One job in a savepoint: whether it found no room, and the error that is the whole transaction's.
    fn one(&mut self, job: &mut Job) -> (bool, Option<StoreError>) {
        if let Err(e) = self.statement("SAVEPOINT job") {
            return (false, Some(self.note(&e)));
        }
        let ran = job.run(&self.conn);
        let full = matches!(ran, Ran::Full);
        if let Ran::Broken(error) = ran {
            self.health.fail(error.clone());
            return (full, Some(error));
        }
        if self.conn.is_autocommit() {
            // Out of memory or disk, SQLite gives up more than the statement that failed.
            let error = match full {
                true => StoreError::Full("the commit was taken back".to_owned()),
                false => StoreError::Failed(TAKEN_BACK.to_owned()),
            };
            return (full, Some(error));
        }
        let end = match ran {
            Ran::Well => self.statement("RELEASE job"),
            _ => self.conn.execute_batch("ROLLBACK TO job; RELEASE job"),
        };
        (full, end.map_err(|e| self.note(&e)).err())
    }

    /// An error in words; one of the disk is the last.
    fn note(&mut self, error: &rusqlite::Error) -> StoreError {
        let words = sqlite_failed(error);
        if is_disk_failure(error) {
            self.health.fail(words.clone());
        }
        words
    }

    /// Signs the newest record of the audit when it is time for that, or `now`.
    fn seal(&mut self, now: bool) -> Result<Option<AuditCheckpoint>, StoreError> {
        let Some(mut notary) = self.notary.take() else { return Ok(None) };
        let sealed = self.seal_with(&mut notary, now);
        self.notary = Some(notary);
        sealed
    }

    fn seal_with(
        &mut self,
        notary: &mut Notary,
        now: bool,
    ) -> Result<Option<AuditCheckpoint>, StoreError> {
        if let Some(error) = self.health.broken().cloned().or_else(|| self.full()) {
            return Err(error);
        }
        if !notary.is_due(&self.conn, now)? {
            return Ok(None);
        }
        // What stands in the anchors must not be lost in a power cut, or the audit would look cut off.
        self.begin(Survives::PowerLoss).map_err(|e| self.note(&e))?;
        let made = notary.sign(&self.conn, now);
        let committed = match &made {
            Ok(Some(_)) => self.commit(Survives::PowerLoss, 1),
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

/// What waits to be written, in order.
struct Queue<'a> {
    messages: &'a Receiver<Message>,
    /// The first one that belongs to a later commit.
    carried: Option<Message>,
}

impl Queue<'_> {
    /// Everything that is there.
    fn take(&mut self, jobs: &mut Vec<Job>) {
        self.take_up_to(jobs, Survives::PowerLoss, BATCH - jobs.len());
    }

    /// Jobs that are there, at most so many, as long as they need no more than this.
    fn take_up_to(&mut self, jobs: &mut Vec<Job>, level: Survives, most: usize) {
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

    /// Gives jobs that nobody waits for a moment to find company: the end of a quick call comes right after its beginning.
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

    /// Waits for one more, and takes what else is there; `false` = none came.
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
