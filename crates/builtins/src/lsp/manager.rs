//! Manager of the running language servers: starts, shares, limits and ends them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;
use toolcrib_core::{CallCtx, ErrorType, ToolError};

use super::languages::Language;
use super::server_session::{Deadline, Session, SessionError};
use crate::program_runner::ProgramRunner;

/// Maximum number of servers at a time; each may hold gigabytes. The least recently used one is
/// ended first.
const MAX_SERVERS: usize = 4;
/// How long an unused server is kept.
const IDLE: Duration = Duration::from_mins(15);
/// Timeouts in a row after which a server is ended.
const MAX_SLOW: u32 = 3;
/// Part of the time limit reserved for building the result.
const MARGIN: Duration = Duration::from_millis(500);

/// The running language servers.
pub(crate) struct Servers {
    workbench: Arc<ProgramRunner>,
    slots: Arc<Slots>,
}

type Slots = Mutex<Vec<Arc<Slot>>>;

/// Slot of one server; calls use it in turn.
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

/// Ends idle servers periodically while there are any.
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
    pub(crate) fn new(workbench: Arc<ProgramRunner>) -> Self {
        Self { workbench, slots: Arc::default() }
    }

    pub(crate) fn workbench(&self) -> &ProgramRunner {
        &self.workbench
    }

    /// Returns the server of a project, and starts it if necessary. The lease gives exclusive use
    /// until it is dropped.
    pub(super) async fn acquire(
        &self,
        ctx: &CallCtx,
        language: &'static Language,
        root: &Path,
    ) -> Result<SessionLease, ToolError> {
        let until = Deadline {
            deadline: ctx.deadline.checked_sub(MARGIN).unwrap_or(ctx.deadline),
            cancel: ctx.cancel.clone(),
        };
        let slot = self.slot(language, root);
        let turn = until.wait(Arc::clone(&slot.session).lock_owned()).await;
        let mut guard = turn.map_err(|trouble| explain(language, &trouble, ""))?;
        let masks = self.workbench.path_masks(&ctx.path_denials).await?;
        // Replace a server that died since the last call; this call did not cause the crash. Also
        // replace a server that has seen files of the project that this call may not see.
        let is_over =
            |session: &Session| session.death_reason().is_some() || session.masks != masks;
        if guard.as_ref().is_some_and(is_over) {
            *guard = None;
        }
        if guard.is_none() {
            let begun = Session::start(&self.workbench, language, root, masks, &until).await?;
            let session =
                begun.map_err(|(trouble, complaint)| explain(language, &trouble, &complaint))?;
            *guard = Some(session);
        }
        Ok(SessionLease { guard, language, until })
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

/// Exclusive use of a server for one call.
pub(super) struct SessionLease {
    guard: OwnedMutexGuard<Option<Session>>,
    language: &'static Language,
    pub(super) until: Deadline,
}

impl SessionLease {
    /// Returns the server, and the deadline of the call.
    pub(super) fn session(&mut self) -> Result<(&mut Session, &Deadline), SessionError> {
        let session =
            self.guard.as_mut().ok_or_else(|| SessionError::Dead("it ended".to_owned()))?;
        Ok((session, &self.until))
    }

    /// Returns the problem that the server reports; `None` if it is healthy.
    pub(super) fn health_warning(&self) -> Option<String> {
        self.guard.as_ref().and_then(Session::health_warning)
    }

    /// Records how the call went; an unusable server is ended here.
    pub(super) fn finish<T>(&mut self, result: Result<T, SessionError>) -> Result<T, ToolError> {
        let trouble = match result {
            Ok(value) => {
                if let Some(session) = self.guard.as_mut() {
                    session.slow = 0;
                }
                return Ok(value);
            }
            Err(trouble) => trouble,
        };
        let complaint = self.guard.as_ref().map(Session::last_stderr).unwrap_or_default();
        let give_up = match (&trouble, self.guard.as_mut()) {
            (SessionError::Dead(_), _) => true,
            (SessionError::Slow, Some(session)) => {
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

fn explain(language: &Language, trouble: &SessionError, complaint: &str) -> ToolError {
    let title = language.title;
    let error = match trouble {
        SessionError::Dead(why) => {
            let last = complaint.lines().rev().map(str::trim).find(|line| !line.is_empty());
            let last: String = last.unwrap_or_default().chars().take(300).collect();
            let said = if last.is_empty() { last } else { format!(" Its last words: {last}") };
            ToolError::execution(format!(
                "The language server for {title} failed: {why}.{said}\nThe next call restarts it. If that fails too, tell the user, and use code_search and read_file."
            ))
        }
        SessionError::Slow => ToolError::new(
            ErrorType::Timeout,
            format!(
                "The language server for {title} did not answer in time. It may still be loading the project: call again later, or use code_search and read_file."
            ),
        ),
        SessionError::Stopped => ToolError::new(ErrorType::Cancelled, "The call was stopped."),
        SessionError::Refused(refusal) => {
            let message: String = refusal.message.chars().take(500).collect();
            ToolError::execution(format!(
                "The language server for {title} refuses: {message}. Check the file, the line and the character."
            ))
        }
    };
    error.with_detail(complaint.to_owned()).transient(false)
}
