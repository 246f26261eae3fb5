//! Tools declared in the requests of active runs, for the tools that add to them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{CallCtx, Entry, RunId, ToolName, ToolSelection};

use super::{SelectedTools, ToolSelectionRules};
use crate::context;

/// The declared tools of every active run. One per program; `find_tools` queries it.
#[derive(Debug, Default)]
pub struct ActiveRequestTools {
    runs: Mutex<HashMap<RunId, Arc<RequestTools>>>,
}

/// The tools that one run declared last, and those that its calls have added since.
#[derive(Debug)]
pub(crate) struct RequestTools {
    whole: HashSet<ToolName>,
    provider: String,
    room: u64,
    added: Mutex<Added>,
}

#[derive(Debug, Default)]
struct Added {
    names: Vec<ToolName>,
    tokens: u64,
}

impl RequestTools {
    pub(crate) fn new(
        offered: &SelectedTools,
        rules: ToolSelectionRules,
        window: u64,
        provider: &str,
    ) -> Self {
        Self {
            whole: offered.whole.clone(),
            provider: provider.to_owned(),
            room: rules.room(window),
            added: Mutex::default(),
        }
    }

    /// Takes the added tools.
    pub(crate) fn take_added(&self) -> Vec<ToolName> {
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *added).names
    }

    fn inject(&self, tools: &[Entry]) -> Vec<ToolName> {
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = Vec::new();
        for entry in tools {
            let name = &entry.spec().name;
            if added.names.contains(name) {
                taken.push(name.clone());
                continue;
            }
            let tokens = context::estimate_tool(entry, &self.provider);
            // Tools carried from earlier requests can be dropped for new ones; tools found by this
            // batch cannot.
            if added.tokens.saturating_add(tokens) <= self.room {
                added.tokens += tokens;
                added.names.push(name.clone());
                taken.push(name.clone());
            }
        }
        taken
    }
}

impl ActiveRequestTools {
    /// Sets the declared tools of a run.
    pub(crate) fn set(&self, run: RunId, shown: Arc<RequestTools>) {
        self.runs().insert(run, shown);
    }

    /// Removes a finished run.
    pub(crate) fn forget(&self, run: RunId) {
        self.runs().remove(&run);
    }

    fn shown(&self, ctx: &CallCtx) -> Option<Arc<RequestTools>> {
        self.runs().get(&ctx.run?).cloned()
    }

    fn runs(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, Arc<RequestTools>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolSelection for ActiveRequestTools {
    fn declares_tools(&self, ctx: &CallCtx) -> bool {
        self.shown(ctx).is_some()
    }

    fn contains(&self, ctx: &CallCtx, tool: &ToolName) -> bool {
        self.shown(ctx).is_some_and(|shown| shown.whole.contains(tool))
    }

    fn inject(&self, ctx: &CallCtx, tools: &[Entry]) -> Vec<ToolName> {
        match self.shown(ctx) {
            Some(shown) => shown.inject(tools),
            // Not a run of this process: every found tool can be called by name.
            None => tools.iter().map(|entry| entry.spec().name.clone()).collect(),
        }
    }
}
