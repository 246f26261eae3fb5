//! Open runs: their budgets, their repeat guard, and the token that stops them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{
    CancellationToken, ErrorType, Label, LabelSource, Labels, RunId, RunSpec, RunUsage, ToolError,
};

use crate::budget::Budget;
use crate::repeat_guard::RepeatGuard;

/// One open run.
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) budget: Arc<Budget>,
    pub(crate) cancel: CancellationToken,
    pub(crate) repeats: Mutex<RepeatGuard>,
    parent: Option<Arc<Self>>,
    labels: Mutex<Arc<Labels>>,
}

impl Run {
    pub(crate) fn repeats(&self) -> std::sync::MutexGuard<'_, RepeatGuard> {
        self.repeats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the labels raised so far.
    pub(crate) fn labels(&self) -> Arc<Labels> {
        Arc::clone(&self.labels.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Raises a label in this run and its parents: text that a child run has read returns to its
    /// parents as a result. `true` if the label is new to this run.
    pub(crate) fn raise(&self, label: Label, by: &LabelSource) -> bool {
        let mut labels = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = labels.get(label).is_none();
        if is_new {
            Arc::make_mut(&mut labels).raise(label, by.clone());
        }
        drop(labels);
        if let Some(parent) = &self.parent {
            parent.raise(label, by);
        }
        is_new
    }
}

type OpenRuns = HashMap<RunId, Arc<Run>, foldhash::fast::RandomState>;

/// All open runs.
#[derive(Default)]
pub(crate) struct Runs {
    open: Mutex<OpenRuns>,
}

impl Runs {
    fn lock(&self) -> std::sync::MutexGuard<'_, OpenRuns> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open(
        &self,
        spec: RunSpec,
        shutdown: &CancellationToken,
    ) -> Result<RunId, ToolError> {
        let mut open = self.lock();
        let parent = match spec.parent {
            Some(id) => Some(open.get(&id).cloned().ok_or_else(|| not_open(id))?),
            None => None,
        };
        let id = spec.id.unwrap_or_else(RunId::fresh);
        let mut labels = spec.labels;
        if let Some(parent) = &parent {
            labels.inherit(&parent.labels());
        }
        if open.contains_key(&id) {
            return Err(already_open(id));
        }
        let run = Run {
            id,
            budget: Arc::new(Budget::resumed(
                spec.limits,
                spec.used,
                parent.as_ref().map(|p| Arc::clone(&p.budget)),
            )),
            cancel: parent
                .as_ref()
                .map_or_else(|| shutdown.child_token(), |p| p.cancel.child_token()),
            repeats: Mutex::default(),
            parent,
            labels: Mutex::new(Arc::new(labels)),
        };
        open.insert(id, Arc::new(run));
        Ok(id)
    }

    pub(crate) fn get(&self, id: RunId) -> Option<Arc<Run>> {
        self.lock().get(&id).cloned()
    }

    pub(crate) fn close(&self, id: RunId) -> Option<RunUsage> {
        let run = self.lock().remove(&id)?;
        run.cancel.cancel();
        Some(run.budget.usage())
    }
}

fn already_open(id: RunId) -> ToolError {
    ToolError::new(ErrorType::ExecutionError, format!("The run {id} is open already."))
}

pub(crate) fn not_open(id: RunId) -> ToolError {
    ToolError::new(ErrorType::ExecutionError, format!("The run {id} is not open."))
}
