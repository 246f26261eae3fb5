//! Background processes: each in its own sandbox, until it ends, its conversation ends, or the
//! conversation has been idle for too long.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::io::AsyncReadExt as _;
use tokio::sync::watch;
use toolcrib_core::{CallId, CancellationToken, ErrorType, ToolError};
use toolcrib_sandbox::{JobResult, Level, LimitHit, Process, Status};

use super::Owner;
use super::background_log::{LogPage, OutputLog};
use super::process_records::{self, ProcessRecord, RecordLock};
use crate::program_runner::{PathMasks, Program, ProgramRunner, ProgramWatch};

/// Maximum number of running processes per conversation.
const MAX_RUNNING: usize = 8;

/// Maximum number of ended processes per conversation in the list; older ones are dropped.
const MAX_ENDED: usize = 32;

/// Default idle time of a conversation after which its processes are ended: overnight plus a
/// working day.
pub const BACKGROUND_IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long to wait for a process to end after a request to terminate. The process is killed after
/// half a second.
const END: Duration = Duration::from_secs(5);

/// All background processes.
pub(crate) struct BackgroundProcesses {
    bench: Arc<ProgramRunner>,
    records: Option<PathBuf>,
    /// Idle time after which a process is ended.
    idle: Duration,
    all: Mutex<Vec<Arc<BackgroundProcess>>>,
}

/// One background process.
pub(crate) struct BackgroundProcess {
    pub(crate) id: String,
    owner: Owner,
    pub(crate) command: String,
    /// Milliseconds since 1970.
    pub(crate) started_at: i64,
    pub(crate) level: Level,
    log: Mutex<OutputLog>,
    stop: CancellationToken,
    /// Last use of its conversation.
    used: watch::Sender<Instant>,
    state: watch::Sender<State>,
    /// Its record on disk, which exists while it runs.
    record: Mutex<Option<RecordLock>>,
}

/// State of a background process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It runs.
    Running,
    /// It ended by itself, or at a limit.
    Ended { status: Status, stopped: Option<LimitHit> },
    /// It was ended by a call or with its conversation.
    Killed,
    /// It was ended because its conversation was idle for too long.
    Forgotten,
}

/// A process as a list shows it.
pub(crate) enum ProcessEntry {
    /// A process that this Toolcrib process started.
    Known(Arc<BackgroundProcess>),
    /// A process of an earlier Toolcrib process, which ended with it.
    Lost(ProcessRecord),
}

impl Drop for BackgroundProcesses {
    fn drop(&mut self) {
        self.end(|_| true);
    }
}

impl BackgroundProcesses {
    pub(super) fn new(bench: Arc<ProgramRunner>, records: Option<PathBuf>) -> Self {
        Self { bench, records, idle: BACKGROUND_IDLE, all: Mutex::default() }
    }

    /// Sets the idle time for processes that start from now on.
    pub(super) fn end_idle_after(&mut self, time: Duration) {
        self.idle = time;
    }

    /// Marks the conversation as used.
    pub(super) fn touch(&self, owner: &Owner) {
        for one in self.all().iter().filter(|one| one.owner == *owner) {
            one.used.send_replace(Instant::now());
        }
    }

    /// Starts a command under this owner.
    pub(crate) async fn start(
        &self,
        owner: Owner,
        command: &str,
        program: Program,
        masks: &PathMasks,
    ) -> Result<Arc<BackgroundProcess>, ToolError> {
        self.check_room(&owner)?;
        let watch = self.bench.watch_program(&program, masks).await?;
        let process = self.bench.start(&program, masks).await?;
        let id = CallId::fresh().to_string();
        let id = format!("p{}", id.get(id.len().saturating_sub(8)..).unwrap_or(&id));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started_at = i64::try_from(now.as_millis()).unwrap_or_default();
        let record = ProcessRecord {
            id: id.clone(),
            owner: owner.owner.clone(),
            conversation: owner.conversation.clone(),
            command: command.to_owned(),
            started_at,
        };
        // If the record cannot be written, the process runs anyway; only the list after a crash
        // would lack it.
        let held = self
            .records
            .as_ref()
            .and_then(|folder| process_records::write_locked(folder, &record).ok());
        let background = Arc::new(BackgroundProcess {
            id,
            owner: owner.clone(),
            command: command.to_owned(),
            started_at,
            level: process.level,
            log: Mutex::default(),
            stop: CancellationToken::new(),
            used: watch::Sender::new(Instant::now()),
            state: watch::Sender::new(State::Running),
            record: Mutex::new(held),
        });
        {
            let mut all = self.all();
            // Check again: a concurrent call may have taken the last slot meanwhile.
            check_room(&all, &owner)?;
            forget_oldest(&mut all, &owner);
            all.push(Arc::clone(&background));
        }
        tokio::spawn(supervise(Arc::clone(&background), (process, watch), self.idle));
        Ok(background)
    }

    /// Lists the processes of a conversation, oldest first.
    pub(crate) fn list(&self, owner: &Owner) -> Vec<ProcessEntry> {
        self.touch(owner);
        let mut listed: Vec<ProcessEntry> = self
            .orphaned(owner)
            .into_iter()
            .map(|(record, _)| ProcessEntry::Lost(record))
            .collect();
        let known = self.all();
        listed.extend(
            known.iter().filter(|one| one.owner == *owner).cloned().map(ProcessEntry::Known),
        );
        listed
    }

    /// Finds one process of a conversation.
    pub(crate) fn find(&self, owner: &Owner, id: &str) -> Option<ProcessEntry> {
        self.touch(owner);
        let known = self.all().iter().find(|one| one.owner == *owner && one.id == id).cloned();
        known.map(ProcessEntry::Known).or_else(|| {
            let mut lost = self.orphaned(owner).into_iter().map(|(record, _)| record);
            lost.find(|record| record.id == id).map(ProcessEntry::Lost)
        })
    }

    /// Removes an ended process from the list.
    pub(crate) fn remove(&self, owner: &Owner, id: &str) {
        self.all().retain(|one| one.owner != *owner || one.id != id || one.runs());
        for (_, path) in self.orphaned(owner).iter().filter(|(record, _)| record.id == id) {
            // Best effort: a record that stays is one entry too many in a list.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Ends and removes the processes of the matching owners.
    pub(super) fn end(&self, of: impl Fn(&Owner) -> bool) {
        self.all().retain(|one| {
            let stays = !of(&one.owner);
            if !stays {
                one.stop.cancel();
            }
            stays
        });
    }

    fn check_room(&self, owner: &Owner) -> Result<(), ToolError> {
        check_room(&self.all(), owner)
    }

    fn orphaned(&self, owner: &Owner) -> Vec<(ProcessRecord, PathBuf)> {
        let Some(folder) = &self.records else { return Vec::new() };
        let mut lost = process_records::list_orphaned(folder);
        lost.retain(|(record, _)| {
            record.owner == owner.owner && record.conversation == owner.conversation
        });
        lost.sort_by_key(|(record, _)| record.started_at);
        lost
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<BackgroundProcess>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_room(all: &[Arc<BackgroundProcess>], owner: &Owner) -> Result<(), ToolError> {
    let running = all.iter().filter(|one| one.owner == *owner && one.runs()).count();
    if running < MAX_RUNNING {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorType::ExecutionError,
        format!(
            "{MAX_RUNNING} programs of this conversation run in the background already, and no more may. End one with manage_process (action kill) first."
        ),
    ))
}

fn forget_oldest(all: &mut Vec<Arc<BackgroundProcess>>, owner: &Owner) {
    let ended: Vec<usize> = all
        .iter()
        .enumerate()
        .filter(|(_, one)| one.owner == *owner && !one.runs())
        .map(|(at, _)| at)
        .collect();
    for at in ended.iter().rev().skip(MAX_ENDED) {
        all.remove(*at);
    }
}

impl BackgroundProcess {
    pub(crate) fn state(&self) -> State {
        *self.state.borrow()
    }

    pub(crate) fn runs(&self) -> bool {
        self.state() == State::Running
    }

    pub(crate) fn page(&self, offset: Option<u64>, limit: usize) -> LogPage {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).page(offset, limit)
    }

    /// Ends the process with all its children, and waits for that.
    pub(crate) async fn kill(&self) -> State {
        self.stop.cancel();
        let mut state = self.state.subscribe();
        let ended = state.wait_for(|state| *state != State::Running);
        // A process stuck in the kernel ends later.
        let _ = tokio::time::timeout(END, ended).await;
        self.state()
    }

    /// Waits up to `time` for its end.
    pub(crate) async fn wait_briefly(&self, time: Duration) -> State {
        let mut state = self.state.subscribe();
        let _ = tokio::time::timeout(time, state.wait_for(|state| *state != State::Running)).await;
        self.state()
    }

    /// Waits until the process is ended by a call, or its conversation is idle for too long;
    /// returns the resulting state.
    async fn wait_end(&self, idle: Duration) -> State {
        let mut used = self.used.subscribe();
        loop {
            let last = *used.borrow_and_update();
            // If the time overflows the clock, the conversation never counts as idle.
            let forgotten = async {
                match last.checked_add(idle) {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return State::Killed,
                Ok(()) = used.changed() => {}
                () = forgotten => return State::Forgotten,
            }
        }
    }

    fn log(&self) -> MutexGuard<'_, OutputLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the output of a process until its streams close and it has ended.
async fn supervise(
    background: Arc<BackgroundProcess>,
    (mut process, mut watch): (Process, ProgramWatch),
    idle: Duration,
) {
    // No input.
    process.stdin = None;
    let (mut one, mut two) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    let mut open = [true; 2];
    let mut over = None;
    let asked = background.wait_end(idle);
    tokio::pin!(asked);
    while open != [false; 2] {
        tokio::select! {
            biased;
            how = &mut asked, if over.is_none() => {
                over = Some(how);
                process.end();
            }
            read = process.stdout.read(&mut one), if open[0] => {
                let read = read.unwrap_or_default();
                open[0] = read > 0;
                background.log().push(0, one.get(..read).unwrap_or_default());
            }
            read = process.stderr.read(&mut two), if open[1] => {
                let read = read.unwrap_or_default();
                open[1] = read > 0;
                background.log().push(1, two.get(..read).unwrap_or_default());
            }
        }
    }
    // A program may close its streams and continue to run.
    let ended = loop {
        tokio::select! {
            biased;
            how = &mut asked, if over.is_none() => {
                over = Some(how);
                process.end();
            }
            ended = process.wait() => break ended,
        }
    };
    if let Some(note) = watch.end_in_background().await {
        background.log().push(1, format!("\n[{note}]\n").as_bytes());
    }
    background.log().close();
    drop(background.record.lock().unwrap_or_else(PoisonError::into_inner).take());
    background.state.send_replace(match (over, ended) {
        (Some(how), _) => how,
        (None, Ok(JobResult { status, stopped, .. })) => State::Ended { status, stopped },
        (None, Err(_)) => State::Killed,
    });
}
