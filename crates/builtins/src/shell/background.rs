//! Programs in the background: each in a sandbox of its own, until it ends, its conversation does, or nobody has used that for long.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::io::AsyncReadExt as _;
use tokio::sync::watch;
use toolcrib_core::{CallId, CancellationToken, ErrorType, ToolError};
use toolcrib_sandbox::{Ended, Level, Process, Status, Stop};

use super::Owner;
use super::log::{Log, Page};
use super::records::{self, Held, Record};
use crate::workbench::{Program, Workbench};

/// Programs of one conversation that run at one time (DESIGN 9, Background processes).
const MOST: usize = 8;

/// Programs of one conversation that are listed after their end; of more the oldest go.
const MOST_ENDED: usize = 32;

/// How long a program runs that nobody of its conversation asks for, unless the settings say otherwise: over a night and a day.
pub const BACKGROUND_IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the end of a program is waited for that was asked to end: it has half a second, and everything is killed then.
const END: Duration = Duration::from_secs(5);

/// All programs in the background.
pub(crate) struct Processes {
    bench: Arc<Workbench>,
    records: Option<PathBuf>,
    /// How long one runs that nobody asks for.
    idle: Duration,
    all: Mutex<Vec<Arc<Background>>>,
}

/// One of them.
pub(crate) struct Background {
    pub(crate) id: String,
    owner: Owner,
    pub(crate) command: String,
    /// Milliseconds since 1970.
    pub(crate) started_at: i64,
    pub(crate) level: Level,
    log: Mutex<Log>,
    stop: CancellationToken,
    /// When its conversation was used last.
    used: watch::Sender<Instant>,
    state: watch::Sender<State>,
    /// Written down as long as it runs.
    record: Mutex<Option<Held>>,
}

/// How it is with a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It runs.
    Running,
    /// It has ended by itself, or by a limit.
    Ended { status: Status, stopped: Option<Stop> },
    /// It was ended.
    Killed,
    /// It was ended because nobody had used its conversation for long.
    Forgotten,
}

/// A program as a list shows it.
pub(crate) enum Listed {
    /// One of this process.
    Known(Arc<Background>),
    /// One of a process of ours that is gone, and the program with it.
    Lost(Record),
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.end(|_| true);
    }
}

impl Processes {
    pub(super) fn new(bench: Arc<Workbench>, records: Option<PathBuf>) -> Self {
        Self { bench, records, idle: BACKGROUND_IDLE, all: Mutex::default() }
    }

    /// Those that start from now on end when nobody has used their conversation for so long.
    pub(super) fn end_idle_after(&mut self, time: Duration) {
        self.idle = time;
    }

    /// Somebody uses this conversation.
    pub(super) fn touch(&self, owner: &Owner) {
        for one in self.all().iter().filter(|one| one.owner == *owner) {
            one.used.send_replace(Instant::now());
        }
    }

    /// Starts a command as this program.
    pub(crate) async fn start(
        &self,
        owner: Owner,
        command: &str,
        program: Program,
    ) -> Result<Arc<Background>, ToolError> {
        self.check_room(&owner)?;
        let process = self.bench.start(&program).await?;
        let id = CallId::fresh().to_string();
        let id = format!("p{}", id.get(id.len().saturating_sub(8)..).unwrap_or(&id));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started_at = i64::try_from(now.as_millis()).unwrap_or_default();
        let record = Record {
            id: id.clone(),
            owner: owner.owner.clone(),
            conversation: owner.conversation.clone(),
            command: command.to_owned(),
            started_at,
        };
        // Without a record it runs all the same, and would be forgotten if this process were killed.
        let held = self.records.as_ref().and_then(|folder| records::hold(folder, &record).ok());
        let background = Arc::new(Background {
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
            // Another call may have taken the last place meanwhile.
            check_room(&all, &owner)?;
            forget_oldest(&mut all, &owner);
            all.push(Arc::clone(&background));
        }
        tokio::spawn(look_after(Arc::clone(&background), process, self.idle));
        Ok(background)
    }

    /// The programs of a conversation, oldest first.
    pub(crate) fn list(&self, owner: &Owner) -> Vec<Listed> {
        self.touch(owner);
        let mut listed: Vec<Listed> =
            self.lost(owner).into_iter().map(|(record, _)| Listed::Lost(record)).collect();
        let known = self.all();
        listed.extend(known.iter().filter(|one| one.owner == *owner).cloned().map(Listed::Known));
        listed
    }

    /// One of a conversation.
    pub(crate) fn find(&self, owner: &Owner, id: &str) -> Option<Listed> {
        self.touch(owner);
        let known = self.all().iter().find(|one| one.owner == *owner && one.id == id).cloned();
        known.map(Listed::Known).or_else(|| {
            let mut lost = self.lost(owner).into_iter().map(|(record, _)| record);
            lost.find(|record| record.id == id).map(Listed::Lost)
        })
    }

    /// Takes one off the list that does not run.
    pub(crate) fn remove(&self, owner: &Owner, id: &str) {
        self.all().retain(|one| one.owner != *owner || one.id != id || one.runs());
        for (_, path) in self.lost(owner).iter().filter(|(record, _)| record.id == id) {
            // One that stays is one too many in a list.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Ends those of chosen conversations, and forgets them.
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

    fn lost(&self, owner: &Owner) -> Vec<(Record, PathBuf)> {
        let Some(folder) = &self.records else { return Vec::new() };
        let mut lost = records::lost(folder);
        lost.retain(|(record, _)| {
            record.owner == owner.owner && record.conversation == owner.conversation
        });
        lost.sort_by_key(|(record, _)| record.started_at);
        lost
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Background>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_room(all: &[Arc<Background>], owner: &Owner) -> Result<(), ToolError> {
    let running = all.iter().filter(|one| one.owner == *owner && one.runs()).count();
    if running < MOST {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorType::ExecutionError,
        format!(
            "{MOST} programs of this conversation run in the background already, and no more may. End one with manage_process (action kill) first."
        ),
    ))
}

fn forget_oldest(all: &mut Vec<Arc<Background>>, owner: &Owner) {
    let ended: Vec<usize> = all
        .iter()
        .enumerate()
        .filter(|(_, one)| one.owner == *owner && !one.runs())
        .map(|(at, _)| at)
        .collect();
    for at in ended.iter().rev().skip(MOST_ENDED) {
        all.remove(*at);
    }
}

impl Background {
    pub(crate) fn state(&self) -> State {
        *self.state.borrow()
    }

    pub(crate) fn runs(&self) -> bool {
        self.state() == State::Running
    }

    pub(crate) fn page(&self, offset: Option<u64>, limit: usize) -> Page {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).page(offset, limit)
    }

    /// Ends it with everything that it started, and waits for that.
    pub(crate) async fn kill(&self) -> State {
        self.stop.cancel();
        let mut state = self.state.subscribe();
        let ended = state.wait_for(|state| *state != State::Running);
        // A process that is stuck in the kernel ends when it gets free.
        let _ = tokio::time::timeout(END, ended).await;
        self.state()
    }

    /// Waits for its end, for so long.
    pub(crate) async fn settle(&self, time: Duration) -> State {
        let mut state = self.state.subscribe();
        let _ = tokio::time::timeout(time, state.wait_for(|state| *state != State::Running)).await;
        self.state()
    }

    /// Waits until somebody ends it, or nobody has used its conversation for so long: what it is then.
    async fn is_over(&self, idle: Duration) -> State {
        let mut used = self.used.subscribe();
        loop {
            let last = *used.borrow_and_update();
            // A time beyond all clocks is never over.
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

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads what a program writes, until everything of it is gone.
async fn look_after(background: Arc<Background>, mut process: Process, idle: Duration) {
    // Nobody types.
    process.stdin = None;
    let (mut one, mut two) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    let mut open = [true; 2];
    let mut over = None;
    let asked = background.is_over(idle);
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
    // A program may close its streams and go on.
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
    background.log().close();
    drop(background.record.lock().unwrap_or_else(PoisonError::into_inner).take());
    background.state.send_replace(match (over, ended) {
        (Some(how), _) => how,
        (None, Ok(Ended { status, stopped, .. })) => State::Ended { status, stopped },
        (None, Err(_)) => State::Killed,
    });
}
