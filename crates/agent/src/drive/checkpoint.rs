//! Storing a run after every step, and taking it up again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{
    Context, Labels, RunId, RunStatus, RunUsage, StoreError, StoredMessage, StoredRun,
};
use toolcrib_providers::chat::Message;

use super::Work;
use crate::machine::{Machine, STATE_VERSION, State};

/// A run's state as it is stored.
#[derive(Deserialize)]
struct Kept {
    state: State,
    used: RunUsage,
    setup: Value,
}

/// The same, to be written: nothing of it is copied first.
#[derive(Serialize)]
struct Keeping<'a> {
    state: &'a State,
    used: RunUsage,
    setup: &'a Value,
}

/// Why a stored run cannot be taken up.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// A newer Toolcrib stored it.
    #[error(
        "the run was stored by a newer version (its form is {0}, this version reads up to {STATE_VERSION}); update to go on with it"
    )]
    Newer(u64),
    /// The stored form cannot be read.
    #[error("the stored run cannot be read: {0}")]
    Broken(serde_json::Error),
    /// Another run has written into the conversation meanwhile, and answered the calls that this one waits for as not run.
    #[error("the conversation has gone on without the run {0}; it cannot be taken up any more")]
    MovedOn(RunId),
}

/// A stored run and the messages of its conversation, as a machine; what it had used; and the setup of its job.
///
/// # Errors
/// [`RestoreError`] when the stored form is newer or cannot be read.
pub fn restore(
    run: &StoredRun,
    messages: Vec<StoredMessage>,
) -> Result<(Machine, RunUsage, Value), RestoreError> {
    let version = run.state.pointer("/state/version").and_then(Value::as_u64).unwrap_or(0);
    if version > u64::from(STATE_VERSION) {
        return Err(RestoreError::Newer(version));
    }
    let kept: Kept = serde_json::from_value(run.state.clone()).map_err(RestoreError::Broken)?;
    let last = messages.last().and_then(|message| message.run);
    let history = messages
        .into_iter()
        .map(|message| serde_json::from_value::<Message>(message.body).map(Arc::new))
        .collect::<Result<Vec<_>, _>>()
        .map_err(RestoreError::Broken)?;
    let machine = Machine::restore(kept.state, history);
    if last != Some(run.id) || !machine.is_in_place() {
        return Err(RestoreError::MovedOn(run.id));
    }
    Ok((machine, kept.used, kept.setup))
}

/// What a stored run had read.
///
/// # Errors
/// [`RestoreError::Broken`]: whoever cannot read it must not take it for nothing.
pub fn labels(run: &StoredRun) -> Result<Labels, RestoreError> {
    // Runs that were stored before there were labels have none.
    let stored = run.state.pointer("/state/labels").cloned();
    stored
        .map_or_else(|| Ok(Labels::default()), serde_json::from_value)
        .map_err(RestoreError::Broken)
}

impl Work<'_> {
    /// Queues what changed since the last checkpoint; the store writes it in its order.
    pub(super) fn checkpoint(&mut self, machine: &mut Machine, status: RunStatus) {
        // In one transaction with the messages that say what was read.
        if let Some(labels) = self.driver.invoker.labels(machine.state().run) {
            machine.labelled(&labels);
        }
        let state = machine.state();
        let now = self.driver.clock.now_ms();
        let kept = Keeping {
            state,
            used: self.driver.invoker.usage(state.run).unwrap_or(self.job.used),
            setup: &self.job.setup,
        };
        // What is plain data always has a JSON form; if it had none, the run would still go on, unstored.
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

    /// Waits until the run is stored as it was at the last checkpoint, with this status.
    pub(super) async fn kept(
        &mut self,
        machine: &mut Machine,
        status: RunStatus,
    ) -> Result<(), StoreError> {
        let run = machine.state().run;
        match self.driver.store.flush(run).await {
            Ok(()) => Ok(()),
            Err(fenced @ StoreError::Fenced { .. }) => Err(fenced),
            Err(_) => {
                // What a failed checkpoint held is missing under every later one: all of it is written again.
                self.saved = 0;
                self.checkpoint(machine, status);
                self.driver.store.flush(run).await
            }
        }
    }

    /// Messages that are new, and the one whose calls have been answered since.
    fn changed(&mut self, machine: &Machine, now: i64) -> Vec<StoredMessage> {
        let history = machine.history();
        let from = std::mem::replace(&mut self.saved, settled(history));
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

/// Messages that stay as they are: only the newest can change, as long as calls of it are open.
pub(super) fn settled(history: &[Arc<Message>]) -> usize {
    let is_open = history.last().is_some_and(|newest| match &**newest {
        Message::Model(message) => message.open().next().is_some(),
        Message::User(_) => false,
    });
    history.len() - usize::from(is_open)
}
