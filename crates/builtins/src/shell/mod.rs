//! Shells: one for each conversation, in the sandbox, which keeps its folder, variables and functions from command to command; and
//! programs in the background.
//!
//! Invariants
//! - When a command is over, so is everything that it started, whatever it did to get away; a program stays only where it was asked for, in
//!   the background.
//! - A shell is one owner's and one conversation's. What a command writes is the answer of that command, or of the next one of the same shell.
//! - Streams are read always, and bounded in memory; the whole goes into an artifact.
//! - A shell that is over says so, once, and the next command gets a new one.

pub(crate) mod background;
mod collect;
mod driver;
pub(crate) mod facts;
mod log;
pub(crate) mod names;
pub(crate) mod place;
mod records;
mod scan;
mod session;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use toolcrib_core::{CallCtx, ErrorType, ToolError};
use toolcrib_sandbox::HostRules;

use crate::workbench::Workbench;
pub use background::BACKGROUND_IDLE;
use background::Processes;
pub(crate) use collect::Stream;
use place::Place;
pub(crate) use session::{Answer, How};
use session::{Ask, Session};

/// Shells that are open at one time; beyond it the one that was used longest ago ends.
const MOST_SHELLS: usize = 64;

/// Calls that wait for one shell.
const MOST_WAITING: usize = 64;

/// Whose a shell is: owner and conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    pub(crate) owner: String,
    pub(crate) conversation: String,
}

impl Owner {
    /// Of a call; `None` = it is in no conversation.
    pub(crate) fn of(call: &CallCtx) -> Option<Self> {
        let (owner, conversation) = (&call.context.owner, &call.context.conversation);
        (!conversation.is_empty())
            .then(|| Self { owner: owner.clone(), conversation: conversation.clone() })
    }
}

/// A command as a call wants it.
pub(crate) struct Wanted {
    pub(crate) command: String,
    pub(crate) folder: Option<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) time: Duration,
    /// Whether it gets a shell of its own that ends with it.
    pub(crate) fresh: bool,
    /// Hosts that it reaches besides; then it is a shell of its own.
    pub(crate) hosts: HostRules,
}

impl Wanted {
    /// What a shell at this place is asked.
    fn ask(&self, place: Place, call: &CallCtx, answer: oneshot::Sender<Answer>) -> Ask {
        let command =
            driver::with(place.language, &self.command, self.folder.as_deref(), &self.env);
        Ask { command, time: self.time.min(place.most_time()), call: call.clone(), answer }
    }
}

/// Where a command ran.
pub(crate) struct Ran {
    pub(crate) answer: Answer,
    /// Whether the shell that the conversation had before was gone, so that this is a new one.
    pub(crate) is_new_after_end: bool,
    /// Whether it ran in the shell of a conversation.
    pub(crate) lasts: bool,
    pub(crate) place: Place,
}

/// The shells and background processes of all conversations. Dropped, all of them end.
pub struct Shells {
    bench: Arc<Workbench>,
    open: Mutex<HashMap<Owner, Arc<Slot>>>,
    pub(crate) processes: Processes,
}

/// The place of one shell.
struct Slot {
    /// The shell, if there is one. Held while one is started.
    shell: tokio::sync::Mutex<Option<Shell>>,
    used: Mutex<Instant>,
    /// Where it is.
    folder: Mutex<Option<String>>,
}

/// A shell as calls see it.
#[derive(Clone)]
struct Shell {
    place: Place,
    asks: mpsc::Sender<Ask>,
}

impl std::fmt::Debug for Shells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("Shells").field("open", &open).finish_non_exhaustive()
    }
}

impl Shells {
    /// Shells on this bench. `records`: a folder where is written down which background processes there are, so that those that are lost
    /// with this process are seen by the next one; `None` = they are forgotten.
    #[must_use]
    pub fn new(bench: Arc<Workbench>, records: Option<PathBuf>) -> Self {
        let processes = Processes::new(Arc::clone(&bench), records);
        Self { bench, open: Mutex::default(), processes }
    }

    /// The same where programs in the background end when nobody has used the shell or the processes of their conversation for so long;
    /// otherwise that is [`BACKGROUND_IDLE`].
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

    /// Ends all of them.
    pub fn end_all(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.processes.end(|_| true);
    }

    /// Where the shell of a conversation is now, as far as its last answer said.
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
    ) -> Result<Arc<background::Background>, ToolError> {
        let place = self.place();
        let whole = driver::with(place.language, command, folder, env);
        self.processes.start(owner, command, place.shell([&*whole], hosts)).await
    }

    /// Where those run that start now.
    pub(crate) fn place(&self) -> Place {
        Place::of(&self.bench.confines())
    }

    /// What they run on.
    pub(crate) fn bench(&self) -> &Arc<Workbench> {
        &self.bench
    }

    /// Runs a command: in the shell of its conversation, or in one of its own where it is in none or wants that.
    pub(crate) async fn run(&self, call: &CallCtx, wanted: Wanted) -> Result<Ran, ToolError> {
        let owner =
            Owner::of(call).filter(|_| !wanted.fresh && wanted.hosts == HostRules::default());
        if let Some(owner) = Owner::of(call) {
            self.processes.touch(&owner);
        }
        let Some(owner) = owner else {
            let place = self.place();
            let answer = self.once(place, call, &wanted).await?;
            return Ok(Ran { answer, is_new_after_end: false, lasts: false, place });
        };
        let mut is_new_after_end = false;
        // A shell that has ended since it was used last is found closed. Each one may be ended by a call that comes before this one.
        for _ in 0..=MOST_WAITING {
            let (shell, is_new) = self.shell(&owner).await?;
            is_new_after_end |= is_new == Is::NewAfterEnd;
            let (answer, answered) = oneshot::channel();
            let ask = wanted.ask(shell.place, call, answer);
            if shell.asks.send(ask).await.is_err() {
                continue;
            }
            if let Ok(answer) = answered.await {
                self.note(&owner, &shell, answer.folder.clone()).await;
                return Ok(Ran { answer, is_new_after_end, lasts: true, place: shell.place });
            }
        }
        Err(ToolError::new(
            ErrorType::SandboxError,
            "The shell ended before the command began, again and again. Nothing was run; tell the user.",
        ))
    }

    async fn once(
        &self,
        place: Place,
        call: &CallCtx,
        wanted: &Wanted,
    ) -> Result<Answer, ToolError> {
        let session = self.session(place, wanted.hosts.clone()).await?;
        let (answer, answered) = oneshot::channel();
        tokio::spawn(session.run_once(wanted.ask(place, call, answer)));
        answered.await.map_err(|_| no_input())
    }

    /// The shell of a conversation, started if there is none.
    async fn shell(&self, owner: &Owner) -> Result<(Shell, Is), ToolError> {
        let slot = self.slot(owner);
        let mut shell = slot.shell.lock().await;
        let is = match &*shell {
            Some(shell) if !shell.asks.is_closed() => return Ok((shell.clone(), Is::Known)),
            Some(_) => Is::NewAfterEnd,
            None => Is::New,
        };
        let place = self.place();
        let session = self.session(place, HostRules::default()).await?;
        let (asks, asked) = mpsc::channel(MOST_WAITING);
        tokio::spawn(session.serve(asked));
        let fresh = shell.insert(Shell { place, asks });
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

    /// Remembers where a shell is now; one whose end was told is taken away.
    async fn note(&self, owner: &Owner, told: &Shell, folder: Option<String>) {
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

    async fn session(&self, place: Place, hosts: HostRules) -> Result<Session, ToolError> {
        let program = place.shell(place.language.driver(), hosts);
        let process = self.bench.start(&program).await?;
        Session::new(process, place).ok_or_else(no_input)
    }
}

/// What a shell that was asked for is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Known,
    New,
    NewAfterEnd,
}

fn no_input() -> ToolError {
    ToolError::new(
        ErrorType::SandboxError,
        "The shell could not be reached, so whether the command ran is unknown. Check before you call it again.",
    )
}
