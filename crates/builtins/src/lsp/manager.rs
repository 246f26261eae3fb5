//! The servers that are at work: which there are, who uses them, when they end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;
use toolcrib_core::{CallCtx, ErrorType, ToolError};

use super::servers::Language;
use super::session::{Session, Trouble, Until};
use crate::workbench::Workbench;

/// Servers at work at one time; each of them may hold gigabytes. The one that was not asked for longest makes room.
const MAX_SERVERS: usize = 4;
/// How long a server is kept that nobody asks.
const IDLE: Duration = Duration::from_mins(15);
/// Calls in a row without an answer after which a server is given up.
const MAX_SLOW: u32 = 3;
/// Time that is kept back for the answer to a call.
const MARGIN: Duration = Duration::from_millis(500);

/// See the top of this file.
pub(crate) struct Servers {
    workbench: Arc<Workbench>,
    slots: Arc<Slots>,
}

type Slots = Mutex<Vec<Arc<Slot>>>;

/// Room for a server; calls take turns.
struct Slot {
    language: &'static Language,
    root: PathBuf,
    used: Mutex<Instant>,
    session: Arc<tokio::sync::Mutex<Option<Session>>>,
}

impl Slot {
    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_free(&self) -> bool {
        self.session.try_lock().is_ok()
    }

    fn is_idle(&self) -> bool {
        self.used().elapsed() >= IDLE && self.is_free()
    }
}

/// Ends servers that nobody asks, as long as there are any.
async fn sweep(slots: Weak<Slots>) {
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(slots) = slots.upgrade() else { return };
        let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|slot| !slot.is_idle());
        if slots.is_empty() {
            return;
        }
    }
}

impl Servers {
    pub(crate) fn new(workbench: Arc<Workbench>) -> Self {
        Self { workbench, slots: Arc::default() }
    }

    pub(crate) fn workbench(&self) -> &Workbench {
        &self.workbench
    }

    /// The server for a project, started if it is not at work. It is this call's alone until the result is dropped.
    pub(super) async fn hold(
        &self,
        ctx: &CallCtx,
        language: &'static Language,
        root: &Path,
    ) -> Result<Held, ToolError> {
        let until = Until {
            deadline: ctx.deadline.checked_sub(MARGIN).unwrap_or(ctx.deadline),
            cancel: ctx.cancel.clone(),
        };
        let slot = self.slot(language, root);
        let turn = until.wait(Arc::clone(&slot.session).lock_owned()).await;
        let mut guard = turn.map_err(|trouble| explain(language, &trouble, ""))?;
        // One that died since the last call was no fault of this one.
        if guard.as_ref().is_some_and(|session| session.dead().is_some()) {
            *guard = None;
        }
        if guard.is_none() {
            let begun = Session::start(&self.workbench, language, root, &until).await?;
            let session =
                begun.map_err(|(trouble, complaint)| explain(language, &trouble, &complaint))?;
            *guard = Some(session);
        }
        Ok(Held { guard, language, until })
    }

    fn slot(&self, language: &'static Language, root: &Path) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |slot: &Slot| slot.language.title == language.title && slot.root == root;
        if let Some(slot) = slots.iter().find(|slot| is_it(slot)) {
            *slot.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            return Arc::clone(slot);
        }
        if slots.len() >= MAX_SERVERS {
            let free = slots.iter().enumerate().filter(|(_, slot)| slot.is_free());
            if let Some((oldest, _)) = free.min_by_key(|(_, slot)| slot.used()) {
                slots.remove(oldest);
            }
        }
        let slot = Arc::new(Slot {
            language,
            root: root.to_owned(),
            used: Mutex::new(Instant::now()),
            session: Arc::default(),
        });
        if slots.is_empty() {
            tokio::spawn(sweep(Arc::downgrade(&self.slots)));
        }
        slots.push(Arc::clone(&slot));
        slot
    }
}

/// A server while a call asks it.
pub(super) struct Held {
    guard: OwnedMutexGuard<Option<Session>>,
    language: &'static Language,
    pub(super) until: Until,
}

impl Held {
    /// The server, and until when it may be waited for.
    pub(super) fn session(&mut self) -> Result<(&mut Session, &Until), Trouble> {
        let session = self.guard.as_mut().ok_or_else(|| Trouble::Dead("it ended".to_owned()))?;
        Ok((session, &self.until))
    }

    /// What the server says is wrong with itself; nothing = all is well.
    pub(super) fn ailment(&self) -> Option<String> {
        self.guard.as_ref().and_then(Session::ailment)
    }

    /// Takes note of how the call went: a server that is of no use any more ends here.
    pub(super) fn done<T>(&mut self, result: Result<T, Trouble>) -> Result<T, ToolError> {
        let trouble = match result {
            Ok(value) => {
                if let Some(session) = self.guard.as_mut() {
                    session.slow = 0;
                }
                return Ok(value);
            }
            Err(trouble) => trouble,
        };
        let complaint = self.guard.as_ref().map(Session::complaint).unwrap_or_default();
        let give_up = match (&trouble, self.guard.as_mut()) {
            (Trouble::Dead(_), _) => true,
            (Trouble::Slow, Some(session)) => {
                session.slow += 1;
                session.slow >= MAX_SLOW
            }
            _ => false,
        };
        if give_up {
            *self.guard = None;
        }
        Err(explain(self.language, &trouble, &complaint))
    }
}

fn explain(language: &Language, trouble: &Trouble, complaint: &str) -> ToolError {
    let title = language.title;
    let error = match trouble {
        Trouble::Dead(why) => {
            let last = complaint.lines().rev().map(str::trim).find(|line| !line.is_empty());
            let last: String = last.unwrap_or_default().chars().take(300).collect();
            let said = if last.is_empty() { last } else { format!(" Its last words: {last}") };
            ToolError::execution(format!(
                "The language server for {title} cannot go on: {why}.{said}\nIt is started anew at the next call. If that fails too, tell the user, and use code_search and read_file."
            ))
        }
        Trouble::Slow => ToolError::new(
            ErrorType::Timeout,
            format!(
                "The language server for {title} did not answer in time. It may still be loading the project, and goes on with that: call again in a while, or use code_search and read_file."
            ),
        ),
        Trouble::Stopped => ToolError::new(ErrorType::Cancelled, "The call was stopped."),
        Trouble::Refused(refusal) => {
            let message: String = refusal.message.chars().take(500).collect();
            ToolError::execution(format!(
                "The language server for {title} refuses: {message}. Check the file, the line and the character."
            ))
        }
    };
    error.with_detail(complaint.to_owned()).transient(false)
}
