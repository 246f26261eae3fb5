//! What the requests of the runs at work carry, for the tools that add to it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{CallCtx, Entry, Exposure, RunId, ToolName};

use super::{OfferRules, Offered};
use crate::context;

/// What every run at work has shown its model. One for all runs of a program; `find_tools` asks it.
#[derive(Debug, Default)]
pub struct Exposed {
    runs: Mutex<HashMap<RunId, Arc<Shown>>>,
}

/// What one run has shown last, and what its calls have added since.
#[derive(Debug)]
pub(crate) struct Shown {
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

impl Shown {
    pub(crate) fn new(offered: &Offered, rules: OfferRules, window: u64, provider: &str) -> Self {
        Self {
            whole: offered.whole.clone(),
            provider: provider.to_owned(),
            room: rules.room(window),
            added: Mutex::default(),
        }
    }

    /// What was added; given once.
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
            let tokens = context::tool(entry, &self.provider);
            // What was carried before makes room; what this very batch has found does not.
            if added.tokens.saturating_add(tokens) <= self.room {
                added.tokens += tokens;
                added.names.push(name.clone());
                taken.push(name.clone());
            }
        }
        taken
    }
}

impl Exposed {
    /// A run shows this from now on.
    pub(crate) fn show(&self, run: RunId, shown: Arc<Shown>) {
        self.runs().insert(run, shown);
    }

    /// A run is over.
    pub(crate) fn forget(&self, run: RunId) {
        self.runs().remove(&run);
    }

    fn shown(&self, ctx: &CallCtx) -> Option<Arc<Shown>> {
        self.runs().get(&ctx.run?).cloned()
    }

    fn runs(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, Arc<Shown>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exposure for Exposed {
    fn declares(&self, ctx: &CallCtx) -> bool {
        self.shown(ctx).is_some()
    }

    fn carries(&self, ctx: &CallCtx, tool: &ToolName) -> bool {
        self.shown(ctx).is_some_and(|shown| shown.whole.contains(tool))
    }

    fn inject(&self, ctx: &CallCtx, tools: &[Entry]) -> Vec<ToolName> {
        match self.shown(ctx) {
            Some(shown) => shown.inject(tools),
            // Nobody's requests are written here: whatever was found can be called by its name.
            None => tools.iter().map(|entry| entry.spec().name.clone()).collect(),
        }
    }
}
