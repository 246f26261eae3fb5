//! The runs of this process: driven runs, and runs whose events it reports.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use toolcrib_core::{ConversationId, OpenRun, RunId, RunStatus};

use super::active_run::ActiveRun;

/// The runs of this process.
#[derive(Default)]
pub(super) struct RunRegistry {
    /// Runs whose events this process reports: driven ones, and paused ones that have subscribers.
    pub(super) runs: HashMap<RunId, Arc<ActiveRun>>,
    /// Runs that a task of this process drives.
    driven: HashMap<RunId, DrivenRun>,
}

struct DrivenRun {
    client: String,
    conversation: ConversationId,
}

/// Limits on the number of concurrently driven runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunLimits {
    pub(super) total: usize,
    pub(super) per_client: usize,
}

/// The reason why a run may not be driven now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RunRefused {
    /// This process already drives it.
    #[error("the run is active already")]
    AlreadyActive,
    /// Another run of its conversation is driven.
    #[error(
        "the run {0} is active in this conversation; wait for it, stop it, or begin another conversation"
    )]
    Conversation(RunId),
    /// The client has reached its limit of this many runs.
    #[error("{0} runs of this client are active, which is the limit; wait until one has ended")]
    Client(usize),
    /// The daemon has reached its limit of this many runs.
    #[error("{0} runs are active, which is the limit; try again when one has ended")]
    Full(usize),
}

impl RunRegistry {
    /// Marks a run as driven. `client` is the client whose limit applies; `None` exempts a run that
    /// must continue from all limits.
    pub(super) fn acquire(
        &mut self,
        run: RunId,
        conversation: ConversationId,
        client: Option<&str>,
        limits: RunLimits,
    ) -> Result<(), RunRefused> {
        if self.driven.contains_key(&run) {
            return Err(RunRefused::AlreadyActive);
        }
        let same = self.driven.iter().find(|(_, driven)| driven.conversation == conversation);
        if let Some((other, _)) = same {
            return Err(RunRefused::Conversation(*other));
        }
        if let Some(client) = client {
            let of_client = self.driven.values().filter(|driven| driven.client == client).count();
            if of_client >= limits.per_client {
                return Err(RunRefused::Client(limits.per_client));
            }
            if self.driven.len() >= limits.total {
                return Err(RunRefused::Full(limits.total));
            }
        }
        let client = client.unwrap_or_default().to_owned();
        self.driven.insert(run, DrivenRun { client, conversation });
        Ok(())
    }

    /// Marks a run as no longer driven.
    pub(super) fn release(&mut self, run: RunId) {
        self.driven.remove(&run);
    }

    /// Returns whether a task of this process drives the run.
    pub(super) fn is_driving(&self, run: RunId) -> bool {
        self.driven.contains_key(&run)
    }

    /// Returns the number of driven runs.
    pub(super) fn driven_count(&self) -> usize {
        self.driven.len()
    }

    /// Returns the driven runs.
    pub(super) fn driven_runs(&self) -> impl Iterator<Item = &Arc<ActiveRun>> {
        self.driven.keys().filter_map(|id| self.runs.get(id))
    }

    /// Removes a run, unless another object has replaced it.
    pub(super) fn remove(&mut self, run: &Arc<ActiveRun>) {
        if self.runs.get(&run.id).is_some_and(|known| Arc::ptr_eq(known, run)) {
            self.runs.remove(&run.id);
        }
    }

    /// Removes and closes the runs that this process does not drive and that have no subscribers or
    /// were driven by another process since. `open` are the stored runs that have not ended,
    /// `missing` the runs that were not among them at the previous scan. Returns the runs that are
    /// missing now.
    pub(super) fn close_stale(
        &mut self,
        open: &[OpenRun],
        missing: &HashSet<RunId>,
    ) -> HashSet<RunId> {
        let open: HashMap<RunId, &OpenRun> = open.iter().map(|run| (run.id, run)).collect();
        let (mut stale, mut missing_now) = (Vec::new(), HashSet::new());
        for (id, run) in &self.runs {
            if self.driven.contains_key(id) {
                continue;
            }
            let is_foreign = match open.get(id) {
                Some(stored) => stored.status != RunStatus::Paused || !run.is_current(stored.epoch),
                // The run may have been paused after the list was read: the next scan decides.
                None => !missing_now.insert(*id) || missing.contains(id),
            };
            if is_foreign || run.subscriber_count() == 0 {
                stale.push(*id);
            }
        }
        for id in stale {
            if let Some(run) = self.runs.remove(&id) {
                run.close();
            }
        }
        missing_now
    }
}
