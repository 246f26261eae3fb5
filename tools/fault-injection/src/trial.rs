//! Rounds: a worker is started and dies, others deal with what it left, and all accounts are
//! compared.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fastrand::Rng;
use tempfile::TempDir;
use toolcrib_core::OutcomeKind;

use crate::args::Options;
use crate::caller_log::CallerLog;
use crate::database_checks;
use crate::disk_shim::{Disk, DiskFault, Shim};
use crate::effect_log;
use crate::error::Result;
use crate::kill_point::{KillPoint, PlannedKill};
use crate::parallel_trials::run_parallel;
use crate::power_cut::{LostWrites, WriteLog};
use crate::protocol::{Orders, WorkerMessage, WorkerTask};
use crate::report::Tally;
use crate::verify::{FailureKind, verify};
use crate::worker_process::{Kill, WorkerEnd, WorkerProgram};

/// Rounds after which a new database is begun, so that judging stays cheap.
const ROUNDS: u32 = 25;
/// Batches of a load.
const BATCHES: u32 = 40;
/// A random kill comes within this time of the start, or of the claim.
const START: u64 = 60_000;
const LOAD: u64 = 90_000;
/// The same of a power cut: a disk that syncs is slower.
const CUT: u64 = 500_000;

/// What a round is about: dying at a point, or (`None`) being killed at a random time.
type Subject = Option<KillPoint>;

/// Runs all rounds on several lanes.
pub(crate) fn run_kill_trials(options: &Options) -> Result<Tally> {
    let mut subjects: Vec<Subject> = vec![None; options.random as usize];
    for point in KillPoint::ALL {
        subjects.extend((0..options.rounds).map(|_| Some(point)));
    }
    Rng::with_seed(options.seed).shuffle(&mut subjects);
    let next = AtomicUsize::new(0);
    run_parallel(
        options,
        || Ok(None),
        |lane| {
            while let Some(subject) = subjects.get(next.fetch_add(1, Ordering::Relaxed)) {
                lane.round(*subject)?;
            }
            lane.close()
        },
    )
}

/// One database after the other, and what is known of the one at work.
pub(crate) struct Trial {
    program: WorkerProgram,
    /// The disk of the workers of a load; `None` = the machine's own.
    shim: Option<Shim>,
    pub(crate) rng: Rng,
    folder: TempDir,
    ledger: CallerLog,
    /// What may be missing.
    after: FailureKind,
    incarnation: u32,
    rounds: u32,
    pub(crate) tally: Tally,
}

impl Trial {
    pub(crate) fn new(seed: u64, shim: Option<Shim>) -> Result<Self> {
        Ok(Self {
            program: WorkerProgram::current()?,
            shim,
            rng: Rng::with_seed(seed),
            folder: tempfile::tempdir()?,
            ledger: CallerLog::default(),
            after: FailureKind::Kill,
            incarnation: 0,
            rounds: 0,
            tally: Tally::default(),
        })
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("store").join("toolcrib.db")
    }

    fn effect_log_path(&self) -> PathBuf {
        self.folder.path().join("truth")
    }

    fn round(&mut self, subject: Subject) -> Result<()> {
        if subject == Some(KillPoint::Migrate) || self.rounds >= ROUNDS {
            self.close()?;
        }
        let old = subject == Some(KillPoint::Migrate) && self.rng.bool();
        if old {
            database_checks::make_first_version(&self.database())?;
        }
        let found_before = self.tally.finding_count();
        self.rounds += 1;
        self.tally.rounds += 1;
        let reached = self.die(subject)?;
        while self.rng.u8(..5) == 0 {
            // The process that recovers can be killed in the same way.
            let death = self.death(KillPoint::Commit);
            self.settle(Some(death))?;
        }
        self.settle(None)?;
        self.verify(false)?;
        if old {
            database_checks::check_first_version(&self.database(), &mut self.tally)?;
        }
        let found = self.tally.finding_count() - found_before;
        let row = self.tally.by_point.entry(subject.map_or("random", KillPoint::name)).or_default();
        row.rounds += 1;
        row.unreached += u64::from(!reached);
        row.found += found;
        Ok(())
    }

    fn death(&mut self, point: KillPoint) -> PlannedKill {
        PlannedKill { point, hit: self.rng.u32(1..=point.most_hits()) }
    }

    /// A load that ends with the death of its worker; `true` = where it should.
    fn die(&mut self, subject: Subject) -> Result<bool> {
        let kill = match (subject, self.rng.u8(..4)) {
            (Some(_), _) => Kill::Never,
            (None, 0) => Kill::AfterStart(Duration::from_micros(self.rng.u64(..START))),
            (None, _) => Kill::AfterReady(Duration::from_micros(self.rng.u64(..LOAD))),
        };
        let die = subject.map(|point| self.death(point));
        let ended = self.worker(
            &self.program.clone(),
            die,
            WorkerTask::Load { batches: BATCHES, room: None },
            kill,
        )?;
        if ended.well && !ended.has_message(|said| matches!(said, WorkerMessage::NotOpened { .. }))
        {
            self.tally.contradiction("a worker that should have died ended".to_owned());
        }
        Ok(!ended.has_message(|said| matches!(said, WorkerMessage::Probe { .. })))
    }

    /// A worker that deals with what others left.
    fn settle(&mut self, die: Option<PlannedKill>) -> Result<()> {
        let resend = self.folder.path().join("resend");
        let mut lines = String::new();
        let mut keys: Vec<_> = self.ledger.fresh_keys.iter().collect();
        keys.sort();
        for sent in keys.iter().filter_map(|key| self.ledger.keyed.get(*key)) {
            lines.push_str(&serde_json::to_string(sent)?);
            lines.push('\n');
        }
        std::fs::write(&resend, lines)?;
        let must_end = die.is_none();
        let ended =
            self.worker(&self.program.clone(), die, WorkerTask::Settle { resend }, Kill::Never)?;
        if must_end {
            self.ledger.fresh_keys.clear();
            if !ended.has_message(|said| matches!(said, WorkerMessage::Ended)) {
                self.tally.contradiction("a worker died by itself".to_owned());
            }
        }
        Ok(())
    }

    fn worker(
        &mut self,
        program: &WorkerProgram,
        die: Option<PlannedKill>,
        then: WorkerTask,
        kill: Kill,
    ) -> Result<WorkerEnd> {
        self.incarnation += 1;
        let orders = Orders {
            database: self.database(),
            truth: self.effect_log_path(),
            incarnation: self.incarnation,
            seed: self.rng.u64(..),
            die,
            then,
        };
        let ended = program.run(&orders, kill)?;
        for said in &ended.said {
            self.ledger.record(said, self.after, &mut self.tally);
        }
        if ended.stuck {
            self.tally.stuck(format!("{orders:?}, after {:?}", ended.said.last()));
        }
        if ended.orphan {
            self.tally.orphan(format!("{orders:?}"));
        }
        Ok(ended)
    }

    fn verify(&mut self, all: bool) -> Result<()> {
        let truth = effect_log::read(&self.effect_log_path())?;
        verify(&self.database(), &mut self.ledger, &truth, self.after, all, &mut self.tally)
    }

    /// A load on a disk that fails in this way, whose power is cut when the worker is dead; then
    /// others deal with what is left. `true` = the fault has come.
    pub(crate) fn cut(
        &mut self,
        name: &'static str,
        fault: DiskFault,
        loses: LostWrites,
    ) -> Result<bool> {
        if self.rounds >= ROUNDS || fault != DiskFault::None {
            self.close()?;
        }
        self.after = match fault {
            DiskFault::None | DiskFault::Cut(_) => FailureKind::PowerCut,
            _ => FailureKind::Fault,
        };
        let found_before = self.tally.finding_count();
        self.rounds += 1;
        self.tally.rounds += 1;
        let ended = self.load_on_disk(fault)?;
        let notes = WriteLog::read(&self.log())?;
        let (faulted, hit_database) = (notes.faulted, notes.hit_database);
        notes.apply(loses, &mut self.rng)?;
        self.check_probes(fault, hit_database, &ended);
        if self.rng.bool() {
            // What SQLite shares between processes was never on the disk.
            let _ = std::fs::remove_file(self.database().with_extension("db-shm"));
        }
        self.settle(None)?;
        database_checks::check_integrity(&self.database(), &mut self.tally)?;
        self.verify(false)?;
        let found = self.tally.finding_count() - found_before;
        let row = self.tally.by_point.entry(name).or_default();
        row.rounds += 1;
        row.unreached += u64::from(fault != DiskFault::None && !faulted);
        row.found += found;
        Ok(faulted)
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn load_on_disk(&mut self, fault: DiskFault) -> Result<WorkerEnd> {
        let room = self.folder.path().join("room");
        let _ = std::fs::remove_file(self.log());
        let disk =
            Disk { log: self.log(), room: room.clone(), sync_us: self.rng.u32(..2_000), fault };
        let folder = self.database().parent().unwrap_or(self.folder.path()).to_owned();
        let shim = self.shim.as_ref().ok_or("there is no shim")?;
        let program = self.program.with(shim.variables(&folder, &disk));
        let kill = match self.rng.u8(..4) {
            _ if fault != DiskFault::None => Kill::Never,
            0 => Kill::AfterStart(Duration::from_micros(self.rng.u64(..START))),
            _ => Kill::AfterReady(Duration::from_micros(self.rng.u64(..CUT))),
        };
        let room = matches!(fault, DiskFault::Full(_)).then_some(room);
        self.worker(&program, None, WorkerTask::Load { batches: BATCHES, room }, kill)
    }

    /// After a fault under the database nothing that changes something runs any more; when there is
    /// room again, it does.
    fn check_probes(&mut self, fault: DiskFault, hit_database: bool, ended: &WorkerEnd) {
        if !hit_database {
            return;
        }
        for said in &ended.said {
            let WorkerMessage::Probe { kind, text, has_room } = said else { continue };
            let ran = *kind == Some(OutcomeKind::Succeeded);
            let should = matches!(fault, DiskFault::Full(_)) && *has_room;
            if ran != should && (*has_room || !matches!(fault, DiskFault::Full(_))) {
                self.tally.contradiction(format!("after {fault:?} (room: {has_room}): {text}"));
            }
        }
    }

    /// Judges everything that the database went through, and begins another one.
    pub(crate) fn close(&mut self) -> Result<()> {
        if self.rounds > 0 {
            self.verify(true)?;
        }
        self.folder = tempfile::tempdir()?;
        self.ledger = CallerLog::default();
        self.rounds = 0;
        self.incarnation = 0;
        Ok(())
    }
}
