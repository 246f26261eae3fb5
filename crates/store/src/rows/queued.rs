//! Beginnings that are queued and not written yet: an end that comes before its beginning is written takes it along, so that a quick call
//! costs one row and not two.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::{CallId, CallRecord, Intent};

/// Beginnings of this handle that wait for the writer.
#[derive(Default)]
pub(crate) struct Queued {
    intents: Mutex<HashMap<CallId, Intent>>,
}

impl Queued {
    fn lock(&self) -> MutexGuard<'_, HashMap<CallId, Intent>> {
        self.intents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one; `false` = the same call waits already.
    pub(super) fn insert(&self, intent: &Intent) -> bool {
        let mut intents = self.lock();
        let is_new = !intents.contains_key(&intent.facts.call);
        if is_new {
            intents.insert(intent.facts.call, intent.clone());
        }
        is_new
    }

    /// Takes the beginning of a call.
    pub(super) fn take(&self, call: CallId) -> Option<Intent> {
        self.lock().remove(&call)
    }

    /// Forgets the beginning of a call that was begun under this claim and may be begun anew.
    pub(super) fn drop_of(&self, call: CallId, epoch: u64) {
        let mut intents = self.lock();
        if intents.get(&call).is_some_and(|intent| intent.epoch == epoch) {
            intents.remove(&call);
        }
    }

    /// Takes the beginning that this is the end of.
    pub(super) fn take_of(&self, end: &CallRecord) -> Option<Intent> {
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
