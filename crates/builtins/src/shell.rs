//! Shells: one persistent, sandboxed shell per conversation, which keeps its folder, variables and
//! functions between commands; and background processes.
//!
//! Invariants
//! - When a command ends, all its child processes are ended, however they detached; only programs
//!   started in the background stay.
//! - A shell belongs to one owner and one conversation. Output of a command appears in its own
//!   result or in that of the next command of the same shell.
//! - Streams are always drained, and bounded in memory; the full output goes into an artifact.
//! - The end of a shell is reported once; the next command gets a new one.

pub(crate) mod background;
mod background_log;
mod command_framing;
mod end_marker;
pub(crate) mod env_names;
pub(crate) mod execution_target;
mod output_collector;
mod process_records;
pub(crate) mod risk;
mod shell_session;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use toolcrib_core::{CallCtx, ErrorType, PathDenials, ToolError};
use toolcrib_sandbox::HostRules;

use crate::program_runner::{PathMasks, ProgramRunner};
pub use background::BACKGROUND_IDLE;
use background::BackgroundProcesses;
use execution_target::ExecutionTarget;
pub(crate) use output_collector::CollectedStream;
pub(crate) use shell_session::{CommandEnd, CommandOutput};
use shell_session::{CommandRequest, Session};

/// Maximum number of open shells; beyond it, the least recently used one is ended.
const MOST_SHELLS: usize = 64;

/// Maximum number of calls that wait for one shell.
const MOST_WAITING: usize = 64;

/// Owner and conversation of a shell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    pub(crate) owner: String,
    pub(crate) conversation: String,
}

impl Owner {
    /// Returns the owner of a call; `None` if it has no conversation.
    pub(crate) fn from_call(call: &CallCtx) -> Option<Self> {
        let (owner, conversation) = (&call.context.owner, &call.context.conversation);
        (!conversation.is_empty())
            .then(|| Self { owner: owner.clone(), conversation: conversation.clone() })
    }
}

/// A command as a call requests it.
pub(crate) struct ShellCommand {
    pub(crate) command: String,
    pub(crate) folder: Option<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) time: Duration,
    /// Whether it gets a separate shell, which ends with it.
    pub(crate) fresh: bool,
    /// Additional hosts that it may connect to; this implies a separate shell.
    pub(crate) hosts: HostRules,
}

impl ShellCommand {
    /// Creates the request to a shell at this target.
    fn to_request(
        &self,
        place: ExecutionTarget,
        call: &CallCtx,
        answer: oneshot::Sender<CommandOutput>,
    ) -> CommandRequest {
        let command =
            command_framing::with(place.language, &self.command, self.folder.as_deref(), &self.env);
        CommandRequest {
            command,
            time: self.time.min(place.max_timeout()),
            call: call.clone(),
            answer,
        }
    }
}

/// The result of a command.
pub(crate) struct CommandResult {
    pub(crate) answer: CommandOutput,
    /// Whether the conversation's shell is new.
    pub(crate) start: ShellState,
    /// Whether it ran in the conversation's shell.
    pub(crate) lasts: bool,
    pub(crate) place: ExecutionTarget,
    /// Paths that were hidden from the command.
    pub(crate) masks: PathMasks,
}

/// The shells and background processes of all conversations. Dropping it ends all of them.
pub struct Shells {
    bench: Arc<ProgramRunner>,
    open: Mutex<HashMap<Owner, Arc<Slot>>>,
    pub(crate) processes: BackgroundProcesses,
}

/// Slot of one shell.
struct Slot {
    /// The shell, if there is one. Locked while the shell starts.
    shell: tokio::sync::Mutex<Option<Shell>>,
    used: Mutex<Instant>,
    /// Its current folder.
    folder: Mutex<Option<String>>,
}

/// Handle of a shell.
#[derive(Clone)]
struct Shell {
    place: ExecutionTarget,
    asks: mpsc::Sender<CommandRequest>,
    /// Paths that are hidden from the shell.
    masks: PathMasks,
}

impl std::fmt::Debug for Shells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("Shells").field("open", &open).finish_non_exhaustive()
    }
}

impl Shells {
    /// Creates shells on this program runner. `records` is a folder for records of background
    /// processes, from which the next Toolcrib process lists lost processes; without it they are
    /// not listed.
    #[must_use]
    pub fn new(bench: Arc<ProgramRunner>, records: Option<PathBuf>) -> Self {
        let processes = BackgroundProcesses::new(Arc::clone(&bench), records);
        Self { bench, open: Mutex::default(), processes }
    }

    /// Sets the idle time of a conversation after which its background processes are ended; the
    /// default is [`BACKGROUND_IDLE`].
    #[must_use]
    pub fn background_idle(mut self, time: Duration) -> Self {
        self.processes.end_idle_after(time);
        self
    }

    /// Ends the shell and the background processes of a conversation.
    pub fn end(&self, owner: &str, conversation: &str) {
        let owner = Owner { owner: owner.to_owned(), conversation: conversation.to_owned() };
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&owner);
        self.processes.end(|of| *of == owner);
    }

    /// Ends all shells and processes.
    pub fn end_all(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.processes.end(|_| true);
    }

    /// Returns the current folder of a conversation's shell, according to its last result.
    pub(crate) fn folder(&self, owner: &Owner) -> Option<String> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = &open.get(owner)?.folder;
        folder.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts a command in the background.
    pub(crate) async fn start(
        &self,
        owner: Owner,
        command: &str,
        folder: Option<&str>,
        env: &BTreeMap<String, String>,
        hosts: HostRules,
        denials: &Arc<dyn PathDenials>,
    ) -> Result<Arc<background::BackgroundProcess>, ToolError> {
        let place = self.execution_target();
        let whole = command_framing::with(place.language, command, folder, env);
        let masks = self.bench.path_masks(denials).await?;
        self.processes.start(owner, command, place.shell([&*whole], hosts), &masks).await
    }

    /// Returns the target of shells that start now.
    pub(crate) fn execution_target(&self) -> ExecutionTarget {
        ExecutionTarget::from_policy(&self.bench.program_policy())
    }

    /// Returns the program runner.
    pub(crate) fn runner(&self) -> &Arc<ProgramRunner> {
        &self.bench
    }

    /// Runs a command in the shell of its conversation, or in a separate one if it has no
    /// conversation or requests one.
    pub(crate) async fn run(
        &self,
        call: &CallCtx,
        wanted: ShellCommand,
    ) -> Result<CommandResult, ToolError> {
        let masks = self.bench.path_masks(&call.path_denials).await?;
        let owner = Owner::from_call(call)
            .filter(|_| !wanted.fresh && wanted.hosts == HostRules::default());
        if let Some(owner) = Owner::from_call(call) {
            self.processes.touch(&owner);
        }
        let Some(owner) = owner else {
            let place = self.execution_target();
            let answer = self.run_fresh(place, call, &wanted, &masks).await?;
            let start = ShellState::Known;
            return Ok(CommandResult { answer, start, lasts: false, place, masks });
        };
        let mut start = ShellState::Known;
        // A shell that ended since its last use is recognized by its closed channel. Each retry may
        // lose against one earlier call in the queue, so the number of retries is the length of the
        // queue.
        for _ in 0..=MOST_WAITING {
            let (shell, state) = self.shell(&owner, &masks).await?;
            start = start.max(state);
            let (answer, answered) = oneshot::channel();
            let ask = wanted.to_request(shell.place, call, answer);
            if shell.asks.send(ask).await.is_err() {
                continue;
            }
            if let Ok(answer) = answered.await {
                self.record_result(&owner, &shell, answer.folder.clone()).await;
                return Ok(CommandResult { answer, start, lasts: true, place: shell.place, masks });
            }
        }
        Err(ToolError::new(
            ErrorType::SandboxError,
            "The shell ended before the command began, again and again. Nothing was run; tell the user.",
        ))
    }

    async fn run_fresh(
        &self,
        place: ExecutionTarget,
        call: &CallCtx,
        wanted: &ShellCommand,
        masks: &PathMasks,
    ) -> Result<CommandOutput, ToolError> {
        let session = self.session(place, wanted.hosts.clone(), masks).await?;
        let (answer, answered) = oneshot::channel();
        tokio::spawn(session.run_once(wanted.to_request(place, call, answer)));
        answered.await.map_err(|_| no_input())
    }

    /// Returns the shell of a conversation, and starts one if there is none. A shell that started
    /// with other masks is replaced: a rule or a new file has changed the denied paths.
    async fn shell(
        &self,
        owner: &Owner,
        masks: &PathMasks,
    ) -> Result<(Shell, ShellState), ToolError> {
        let slot = self.slot(owner);
        let mut shell = slot.shell.lock().await;
        let is = match &*shell {
            Some(shell) if !shell.asks.is_closed() && shell.masks.covers(masks) => {
                return Ok((shell.clone(), ShellState::Known));
            }
            Some(shell) if !shell.asks.is_closed() => ShellState::NewForRules,
            Some(_) => ShellState::NewAfterEnd,
            None => ShellState::New,
        };
        let place = self.execution_target();
        let session = self.session(place, HostRules::default(), masks).await?;
        let (asks, asked) = mpsc::channel(MOST_WAITING);
        tokio::spawn(session.serve(asked));
        let fresh = shell.insert(Shell { place, asks, masks: masks.clone() });
        Ok((fresh.clone(), is))
    }

    fn slot(&self, owner: &Owner) -> Arc<Slot> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.contains_key(owner) && open.len() >= MOST_SHELLS {
            let used = |slot: &Slot| *slot.used.lock().unwrap_or_else(PoisonError::into_inner);
            let oldest =
                open.iter().min_by_key(|(_, slot)| used(slot)).map(|(owner, _)| owner.clone());
            oldest.and_then(|oldest| open.remove(&oldest));
        }
        let slot = open.entry(owner.clone()).or_insert_with(|| {
            let (shell, folder) = (tokio::sync::Mutex::default(), Mutex::default());
            Arc::new(Slot { shell, used: Mutex::new(Instant::now()), folder })
        });
        *slot.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Arc::clone(slot)
    }

    /// Records the folder of a shell after a command, and removes the shell if it ended.
    async fn record_result(&self, owner: &Owner, told: &Shell, folder: Option<String>) {
        let slot = self.slot(owner);
        let is_over = folder.is_none();
        *slot.folder.lock().unwrap_or_else(PoisonError::into_inner) = folder;
        if !is_over {
            return;
        }
        let mut shell = slot.shell.lock().await;
        if shell.as_ref().is_some_and(|shell| shell.asks.same_channel(&told.asks)) {
            *shell = None;
        }
    }

    async fn session(
        &self,
        place: ExecutionTarget,
        hosts: HostRules,
        masks: &PathMasks,
    ) -> Result<Session, ToolError> {
        let program = place.shell(place.language.driver(), hosts);
        let watch = self.bench.watch_program(&program, masks).await?;
        let process = self.bench.start(&program, masks).await?;
        Session::new(process, place, watch).ok_or_else(no_input)
    }
}

/// Whether the shell is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShellState {
    /// It ran commands before.
    Known,
    /// The conversation's first one.
    New,
    /// The previous one had ended.
    NewAfterEnd,
    /// The previous shell was ended, because rules or files changed the paths that are denied to
    /// it.
    NewForRules,
}

fn no_input() -> ToolError {
    ToolError::new(
        ErrorType::SandboxError,
        "The shell could not be reached, so whether the command ran is unknown. Check before you call it again.",
    )
}
