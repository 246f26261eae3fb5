//! Hooks that are commands (DESIGN 9, Hooks): programs of the owner that are asked before a call, or told what became of it.
//!
//! Invariants
//! - A guard that cannot be started, breaks, is late or answers nonsense denies. An observer never changes anything.
//! - A program sees the environment that it is given here, one JSON object on its input, and nothing else of ours. It runs in a process
//!   group of its own, which ends with it.
//! - What is on its input is masked as the record of the call is; a guard gets the arguments that the caller sent.

mod context;
mod event;
mod guard;
mod matcher;
mod observer;
mod program;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use toolcrib_core::{BoxFuture, Event, EventKind, Guard, Observer};
use toolcrib_engine::Engine;

pub use event::HookEvent;
pub use matcher::Matcher;

use guard::CommandGuard;
use observer::CommandObserver;

/// Longest time of a guard, in which the call waits (SPEC 3.3: 2 s), and its default.
pub const GUARD_TIME: Duration = toolcrib_core::defaults::GUARD_TIMEOUT;

/// Longest time of an observer, and its default.
pub const OBSERVER_TIME: Duration = Duration::from_secs(10);

/// How long the end of a process waits for its observers.
const SETTLE: Duration = Duration::from_secs(10);

/// Remarks that are kept until somebody asks for them; more are counted.
const REMARKS: usize = 20;

/// A program that is asked or told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHook {
    /// Its name, which models and people read.
    pub name: String,
    /// Where it is written, `PATH:LINE`.
    pub origin: String,
    /// When it is run.
    pub event: HookEvent,
    /// For which tools.
    pub matcher: Matcher,
    /// The program, as an absolute path or a name to be found in the `PATH` of `env`, and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    pub time: Duration,
    /// The variables that it sees.
    pub env: Vec<(OsString, OsString)>,
}

impl CommandHook {
    /// How it is named to models and people.
    fn label(&self) -> String {
        format!("{} ({})", self.name, self.origin)
    }
}

/// All hooks of a Toolcrib, at work.
#[derive(Default, Clone)]
pub(crate) struct Hooks {
    guards: Vec<Arc<dyn Guard>>,
    observer: Option<Arc<CommandObserver>>,
    surroundings: Arc<Surroundings>,
}

/// What all of them share.
#[derive(Default)]
struct Surroundings {
    /// The folder that they run in.
    folder: PathBuf,
    /// Other names of tools, by canonical name.
    names: RwLock<HashMap<String, Vec<String>>>,
    /// What went wrong with observers, which nobody else hears of.
    remarks: Mutex<Vec<String>>,
}

impl Hooks {
    /// These hooks in this workspace, in their order.
    pub(crate) fn new(hooks: &[CommandHook], workspace: Option<&PathBuf>) -> Self {
        let folder = workspace.map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
        let folder = folder.unwrap_or_else(|| PathBuf::from("/"));
        let surroundings = Arc::new(Surroundings { folder, ..Surroundings::default() });
        Self::with(hooks, surroundings)
    }

    /// Other hooks in the same surroundings; what went wrong with those before is still told.
    pub(crate) fn again(&self, hooks: &[CommandHook]) -> Self {
        Self::with(hooks, Arc::clone(&self.surroundings))
    }

    fn with(hooks: &[CommandHook], surroundings: Arc<Surroundings>) -> Self {
        let mut guards: Vec<Arc<dyn Guard>> = Vec::new();
        let mut observers = Vec::new();
        for hook in hooks {
            match hook.event {
                HookEvent::Guard => {
                    guards.push(Arc::new(CommandGuard::new(hook.clone(), &surroundings)));
                }
                HookEvent::On(kind) => observers.push((kind, hook.clone())),
            }
        }
        let observer = (!observers.is_empty())
            .then(|| Arc::new(CommandObserver::new(observers, &surroundings)));
        Self { guards, observer, surroundings }
    }

    pub(crate) fn guards(&self) -> impl Iterator<Item = Arc<dyn Guard>> {
        self.guards.iter().cloned()
    }

    /// Learns the other names of tools, for matchers that use them.
    pub(crate) fn know(&self, engine: &Engine) {
        if self.guards.is_empty() && self.observer.is_none() {
            return;
        }
        let infos = engine.catalog().infos();
        let names = infos.iter().filter_map(|info| {
            let spec = engine.spec(info.id.as_str()).filter(|spec| !spec.aliases.is_empty())?;
            Some((spec.name.to_string(), spec.aliases.clone()))
        });
        let names = names.collect();
        *self.surroundings.names.write().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Waits until observers were told of everything so far, for 10 s at most; what went wrong with them since the last time.
    pub(crate) async fn settle(&self, engine: &Engine) -> Vec<String> {
        let Some(observer) = &self.observer else { return Vec::new() };
        let told = async {
            engine.flush_observers().await;
            observer.finish().await;
        };
        if tokio::time::timeout(SETTLE, told).await.is_err() {
            self.surroundings.remark(format!(
                "hooks were not waited for any longer than {} s; some of them may not have been told of everything",
                SETTLE.as_secs()
            ));
        }
        self.surroundings.take()
    }
}

/// Tells the observers that are in force by now; the engine knows this one for good.
#[derive(Default)]
pub(crate) struct Relay {
    hooks: RwLock<Hooks>,
}

impl Relay {
    pub(crate) fn new(hooks: Hooks) -> Self {
        Self { hooks: RwLock::new(hooks) }
    }

    /// The hooks that are in force.
    pub(crate) fn hooks(&self) -> Hooks {
        self.hooks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts others into force.
    pub(crate) fn change(&self, hooks: Hooks) {
        *self.hooks.write().unwrap_or_else(PoisonError::into_inner) = hooks;
    }
}

impl Observer for Relay {
    fn wants(&self, kind: EventKind) -> bool {
        let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
        hooks.observer.as_ref().is_some_and(|observer| observer.wants(kind))
    }

    fn observe<'a>(&'a self, event: &'a Event) -> BoxFuture<'a, ()> {
        // It only puts the event into queues: nothing is waited for.
        if let Some(observer) = self.hooks().observer {
            observer.tell(event);
        }
        Box::pin(std::future::ready(()))
    }
}

impl Surroundings {
    /// Whether a hook is about this tool, by any of its names.
    fn is_about(&self, matcher: &Matcher, tool: &str) -> bool {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let others = names.get(tool).into_iter().flatten().map(String::as_str);
        std::iter::once(tool).chain(others).any(|name| matcher.matches(name))
    }

    fn remark(&self, text: String) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        if remarks.len() < REMARKS && !remarks.contains(&text) {
            remarks.push(text);
        }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.remarks.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
