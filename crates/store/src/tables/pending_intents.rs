//! Intents that are queued and not written yet. The outcome of a call is written together with its
//! queued intent, so a quick call costs one row write instead of two.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::{CallId, CallRecord, Intent};

/// Intents of this handle that wait for the writer.
#[derive(Default)]
pub(crate) struct PendingIntents {
    intents: Mutex<HashMap<CallId, Intent>>,
}

impl PendingIntents {
    fn lock(&self) -> MutexGuard<'_, HashMap<CallId, Intent>> {
        self.intents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an intent; `false` if the call has one already.
    pub(super) fn insert(&self, intent: &Intent) -> bool {
        let mut intents = self.lock();
        let is_new = !intents.contains_key(&intent.facts.call);
        if is_new {
            intents.insert(intent.facts.call, intent.clone());
        }
        is_new
    }

    /// Takes the intent of a call.
    pub(super) fn take(&self, call: CallId) -> Option<Intent> {
        self.lock().remove(&call)
    }

    /// Drops the intent of a call that started under this claim, so that the call can start again.
    pub(super) fn remove_for_claim(&self, call: CallId, epoch: u64) {
        let mut intents = self.lock();
        if intents.get(&call).is_some_and(|intent| intent.epoch == epoch) {
            intents.remove(&call);
        }
    }

    /// Takes the intent that belongs to this outcome.
    pub(super) fn take_for_end(&self, end: &CallRecord) -> Option<Intent> {
        let mut intents = self.lock();
        let fits = |intent: &Intent| {
            intent.epoch == end.epoch && Some(intent.started_at) == end.started_at
        };
        let call = end.facts.call;
        if !intents.get(&call).is_some_and(fits) {
            return None;
        }
        intents.remove(&call)
    }
}
