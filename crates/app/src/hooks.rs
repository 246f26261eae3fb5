//! Hooks: programs of the owner that may refuse calls (guards) or receive events (observers).
//!
//! Invariants
//! - A guard that cannot be started, fails, times out or prints an invalid answer denies the call.
//!   An observer never changes anything.
//! - A program gets the environment configured here and one JSON object on its input, nothing else.
//!   It runs in its own process group, which ends with it.
//! - The input is masked like the record of the call; a guard gets the arguments that the caller
//!   sent.

mod command_guard;
mod command_observer;
mod hook_event;
mod hook_input;
mod run_program;
mod tool_matcher;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use toolcrib_core::{BoxFuture, Event, EventKind, Guard, Observer};
use toolcrib_engine::Engine;

pub use hook_event::HookEvent;
pub use tool_matcher::ToolMatcher;

use command_guard::CommandGuard;
use command_observer::CommandObserver;

/// Maximum and default time limit of a guard. The call waits for it.
pub const GUARD_TIME: Duration = toolcrib_core::defaults::GUARD_TIMEOUT;

/// Maximum and default time limit of an observer.
pub const OBSERVER_TIME: Duration = Duration::from_secs(10);

/// Time for which a process waits for its observers before it ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of observer failures that are kept until they are read; further ones are only
/// counted.
const REMARKS: usize = 20;

/// A hook that runs a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHook {
    /// Name of the hook for models and people.
    pub name: String,
    /// Position in the configuration, `PATH:LINE`.
    pub origin: String,
    /// The event at which the hook runs.
    pub event: HookEvent,
    /// The tools that the hook applies to.
    pub matcher: ToolMatcher,
    /// The program, as an absolute path or a name in the `PATH` of `env`, and its arguments.
    pub command: Vec<String>,
    /// Time limit.
    pub time: Duration,
    /// Environment of the program.
    pub env: Vec<(OsString, OsString)>,
}

impl CommandHook {
    /// Returns name for messages.
    fn label(&self) -> String {
        format!("{} ({})", self.name, self.origin)
    }
}

/// The active hooks of a Toolcrib.
#[derive(Default, Clone)]
pub(crate) struct Hooks {
    guards: Vec<Arc<dyn Guard>>,
    observer: Option<Arc<CommandObserver>>,
    surroundings: Arc<HookContext>,
}

/// Shared state of the hooks.
#[derive(Default)]
struct HookContext {
    /// Working folder of the hooks.
    folder: PathBuf,
    /// Aliases of tools, by canonical name.
    names: RwLock<HashMap<String, Vec<String>>>,
    /// Failures of observers, which are reported nowhere else.
    remarks: Mutex<Vec<String>>,
}

impl Hooks {
    /// Creates the hooks of a workspace, in the configured order.
    pub(crate) fn new(hooks: &[CommandHook], workspace: Option<&PathBuf>) -> Self {
        let folder = workspace.map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
        let folder = folder.unwrap_or_else(|| PathBuf::from("/"));
        let surroundings = Arc::new(HookContext { folder, ..HookContext::default() });
        Self::with(hooks, surroundings)
    }

    /// Replaces the hooks; failures of the previous ones are still reported.
    pub(crate) fn with_hooks(&self, hooks: &[CommandHook]) -> Self {
        Self::with(hooks, Arc::clone(&self.surroundings))
    }

    fn with(hooks: &[CommandHook], surroundings: Arc<HookContext>) -> Self {
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

    /// Loads the aliases of tools, for matchers that use them.
    pub(crate) fn learn_aliases(&self, engine: &Engine) {
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

    /// Waits up to 10 s until observers have received everything so far; returns their failures
    /// since the last call.
    pub(crate) async fn flush(&self, engine: &Engine) -> Vec<String> {
        let Some(observer) = &self.observer else { return Vec::new() };
        let told = async {
            engine.flush_observers().await;
            observer.finish().await;
        };
        if tokio::time::timeout(FLUSH_TIMEOUT, told).await.is_err() {
            self.surroundings.remark(format!(
                "hooks were not waited for any longer than {} s; some of them may not have been told of everything",
                FLUSH_TIMEOUT.as_secs()
            ));
        }
        self.surroundings.take_warnings()
    }
}

/// An observer that forwards to the active hooks. The engine's observers are fixed when it is
/// built, but the hooks can change.
#[derive(Default)]
pub(crate) struct HookRelay {
    hooks: RwLock<Hooks>,
}

impl HookRelay {
    pub(crate) fn new(hooks: Hooks) -> Self {
        Self { hooks: RwLock::new(hooks) }
    }

    /// Returns the active hooks.
    pub(crate) fn hooks(&self) -> Hooks {
        self.hooks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the active hooks.
    pub(crate) fn change(&self, hooks: Hooks) {
        *self.hooks.write().unwrap_or_else(PoisonError::into_inner) = hooks;
    }
}

impl Observer for HookRelay {
    fn wants(&self, kind: EventKind) -> bool {
        let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
        hooks.observer.as_ref().is_some_and(|observer| observer.wants(kind))
    }

    fn observe<'a>(&'a self, event: &'a Event) -> BoxFuture<'a, ()> {
        // Only queues the event; never waits.
        if let Some(observer) = self.hooks().observer {
            observer.enqueue(event);
        }
        Box::pin(std::future::ready(()))
    }
}

impl HookContext {
    /// Returns whether a matcher covers this tool under any of its names.
    fn matches_tool(&self, matcher: &ToolMatcher, tool: &str) -> bool {
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

    fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.remarks.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
