//! Checkpoints: stores a run after every step, and restores it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{
    Context, Labels, RunId, RunStatus, RunUsage, StoreError, StoredMessage, StoredRun,
};
use toolcrib_providers::conversation::Message;

use super::RunDriver;
use crate::machine::{Machine, STATE_VERSION, State};

/// The stored form of a run's state.
#[derive(Deserialize)]
struct StoredState {
    state: State,
    used: RunUsage,
    setup: Value,
}

/// The same for writing, with borrowed values.
#[derive(Serialize)]
struct StoredStateRef<'a> {
    state: &'a State,
    used: RunUsage,
    /// Whether the first model only replays a file, for later readers of the run.
    scripted: bool,
    setup: &'a Value,
}

/// The reasons why a stored run cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// A newer Toolcrib stored it.
    #[error(
        "the run was stored by a newer version (its format is {0}, this version reads up to {STATE_VERSION}); update to continue it"
    )]
    Newer(u64),
    /// The stored form cannot be read.
    #[error("the stored run cannot be read: {0}")]
    Broken(serde_json::Error),
    /// Another run has written to the conversation meanwhile and recorded the calls for which this
    /// one waits as not run.
    #[error("the conversation has continued without the run {0}; it cannot be resumed")]
    MovedOn(RunId),
}

/// Restores a machine from a stored run and the messages of its conversation; also returns its
/// usage and the setup of its job.
///
/// # Errors
/// [`RestoreError`] if the stored form is newer or cannot be read.
pub fn restore(
    run: &StoredRun,
    messages: Vec<StoredMessage>,
) -> Result<(Machine, RunUsage, Value), RestoreError> {
    let version = run.state.pointer("/state/version").and_then(Value::as_u64).unwrap_or(0);
    if version > u64::from(STATE_VERSION) {
        return Err(RestoreError::Newer(version));
    }
    let kept: StoredState =
        serde_json::from_value(run.state.clone()).map_err(RestoreError::Broken)?;
    let last = messages.last().and_then(|message| message.run);
    let history = messages
        .into_iter()
        .map(|message| serde_json::from_value::<Message>(message.body).map(Arc::new))
        .collect::<Result<Vec<_>, _>>()
        .map_err(RestoreError::Broken)?;
    let machine = Machine::restore(kept.state, history);
    if last != Some(run.id) || !machine.matches_history() {
        return Err(RestoreError::MovedOn(run.id));
    }
    Ok((machine, kept.used, kept.setup))
}

/// Returns the taint labels of a stored run.
///
/// # Errors
/// [`RestoreError::Broken`]: unreadable labels must not count as no labels.
pub fn labels(run: &StoredRun) -> Result<Labels, RestoreError> {
    // Runs stored by versions without labels have none.
    let stored = run.state.pointer("/state/labels").cloned();
    stored
        .map_or_else(|| Ok(Labels::default()), serde_json::from_value)
        .map_err(RestoreError::Broken)
}

impl RunDriver<'_> {
    /// Queues the changes since the last checkpoint; the store writes them in order.
    pub(super) fn checkpoint(&mut self, machine: &mut Machine, status: RunStatus) {
        // Labels are written in one transaction with the messages that cause them.
        if let Some(labels) = self.driver.invoker.labels(machine.state().run) {
            machine.add_labels(&labels);
        }
        let state = machine.state();
        let now = self.driver.clock.now_ms();
        let kept = StoredStateRef {
            state,
            used: self.driver.invoker.usage(state.run).unwrap_or(self.job.used),
            scripted: self.job.models.first().is_some_and(|model| model.info().scripted),
            setup: &self.job.setup,
        };
        // Plain data always serializes; otherwise the run would continue without being stored.
        let Ok(value) = serde_json::to_value(&kept) else { return };
        let run = StoredRun {
            id: state.run,
            conversation: state.conversation,
            context: Context::clone(&self.job.context),
            status,
            state: value,
            epoch: self.job.epoch,
            created_at: state.begun_at.unwrap_or(now),
            updated_at: now,
        };
        let messages = self.changed(machine, now);
        self.driver.store.checkpoint(run, messages);
    }

    /// Stores the run with this status and waits for the commit.
    pub(super) async fn save(
        &mut self,
        machine: &mut Machine,
        status: RunStatus,
    ) -> Result<(), StoreError> {
        let run = machine.state().run;
        match self.driver.store.flush(run).await {
            Ok(()) => Ok(()),
            Err(fenced @ StoreError::Fenced { .. }) => Err(fenced),
            Err(_) => {
                // Every later checkpoint builds on the failed one: write everything again.
                self.saved = 0;
                self.checkpoint(machine, status);
                self.driver.store.flush(run).await
            }
        }
    }

    /// Returns the new messages, and the message whose calls have been answered since.
    fn changed(&mut self, machine: &Machine, now: i64) -> Vec<StoredMessage> {
        let history = machine.history();
        let from = std::mem::replace(&mut self.saved, count_final_messages(history));
        history
            .iter()
            .enumerate()
            .skip(from)
            .filter_map(|(seq, message)| {
                let body = serde_json::to_value(&**message).ok()?;
                let run = Some(machine.state().run);
                Some(StoredMessage { seq: seq as u64, run, body, created_at: now })
            })
            .collect()
    }
}

/// Returns the number of final messages: only the newest can change, while calls of it are open.
pub(super) fn count_final_messages(history: &[Arc<Message>]) -> usize {
    let is_open = history.last().is_some_and(|newest| match &**newest {
        Message::Model(message) => message.unanswered().next().is_some(),
        Message::User(_) => false,
    });
    history.len() - usize::from(is_open)
}
