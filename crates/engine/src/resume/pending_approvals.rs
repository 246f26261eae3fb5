//! The calls of this process that wait for a decision, and those that were resumed by one. A
//! decision that arrives on another surface is delivered to them, so that no call is in two
//! pipelines of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use toolcrib_core::{ApprovalId, DecisionRecord};

/// The state of a call that a question is about.
enum ApprovalState {
    /// It waits for a decision.
    Waiting(oneshot::Sender<DecisionRecord>),
    /// It was decided about, and runs until its pipeline ends.
    Resumed,
}

type ApprovalTable = Arc<Mutex<HashMap<ApprovalId, ApprovalState>>>;

fn lock(calls: &ApprovalTable) -> MutexGuard<'_, HashMap<ApprovalId, ApprovalState>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All calls that wait, or were resumed.
#[derive(Default)]
pub(crate) struct PendingApprovals {
    calls: ApprovalTable,
}

/// The entry of one call, removed when dropped.
pub(crate) struct ApprovalHandle {
    id: ApprovalId,
    decided: Option<oneshot::Receiver<DecisionRecord>>,
    /// Whether the entry was removed: a new one under this id belongs to another task.
    is_left: bool,
    calls: ApprovalTable,
}

/// Where a decision went.
pub(crate) enum Handoff {
    /// To the call, which goes on in its own task.
    Delivered,
    /// No task has the call here: the holder of this handle resumes it.
    Unclaimed(ApprovalHandle),
}

impl PendingApprovals {
    /// Begins to wait.
    pub(crate) fn register(&self, id: ApprovalId) -> ApprovalHandle {
        let (sender, decided) = oneshot::channel();
        lock(&self.calls).insert(id, ApprovalState::Waiting(sender));
        ApprovalHandle {
            id,
            decided: Some(decided),
            is_left: false,
            calls: Arc::clone(&self.calls),
        }
    }

    /// Delivers a decision to a call that waits for it here; `false` = none does.
    pub(crate) fn deliver(&self, id: ApprovalId, record: &DecisionRecord) -> bool {
        let is_waiting = matches!(lock(&self.calls).get(&id), Some(ApprovalState::Waiting(_)));
        is_waiting && matches!(self.hand_off(id, record.clone()), Handoff::Delivered)
    }

    /// Delivers a decision to the call that waits for it, or makes the caller resume it.
    pub(crate) fn hand_off(&self, id: ApprovalId, record: DecisionRecord) -> Handoff {
        // Under the lock: a task that withdraws finds either the decision, or no entry.
        let mut calls = lock(&self.calls);
        match calls.insert(id, ApprovalState::Resumed) {
            Some(ApprovalState::Waiting(sender)) => {
                // The entry is there, so its receiver is too.
                let _ = sender.send(record);
                Handoff::Delivered
            }
            Some(ApprovalState::Resumed) => Handoff::Delivered,
            None => {
                let calls = Arc::clone(&self.calls);
                Handoff::Unclaimed(ApprovalHandle { id, decided: None, is_left: false, calls })
            }
        }
    }
}

impl ApprovalHandle {
    /// The decision, when it comes from another surface.
    pub(crate) async fn decision(&mut self) -> Option<DecisionRecord> {
        match &mut self.decided {
            Some(decided) => decided.await.ok(),
            None => None,
        }
    }

    /// The call was decided about here, and is resumed.
    pub(crate) fn mark_resumed(&self) {
        lock(&self.calls).insert(self.id, ApprovalState::Resumed);
    }

    /// Waits no longer, unless the decision came just now. A later one is for a call that is
    /// suspended.
    pub(crate) fn withdraw(&mut self) -> Option<DecisionRecord> {
        let mut calls = lock(&self.calls);
        if let Some(ApprovalState::Waiting(_)) = calls.get(&self.id) {
            calls.remove(&self.id);
            self.is_left = true;
        }
        self.decided.as_mut()?.try_recv().ok()
    }
}

impl Drop for ApprovalHandle {
    fn drop(&mut self) {
        if !self.is_left {
            lock(&self.calls).remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::Decision;

    fn record() -> DecisionRecord {
        DecisionRecord { decision: Decision::Skip, decided_by: "ann".into(), decided_at: 0 }
    }

    #[test]
    fn a_decision_is_either_handed_over_or_left_to_the_store() {
        let (waiting, id) = (PendingApprovals::default(), ApprovalId::fresh());
        let mut place = waiting.register(id);
        assert!(matches!(waiting.hand_off(id, record()), Handoff::Delivered));
        assert_eq!(place.withdraw(), Some(record()));
        // This task resumes the call, so no other does until it ends.
        assert!(matches!(waiting.hand_off(id, record()), Handoff::Delivered));
        drop(place);
        let mut place = waiting.register(id);
        assert_eq!(place.withdraw(), None);
        drop(place);
        let Handoff::Unclaimed(place) = waiting.hand_off(id, record()) else {
            panic!("no task takes it")
        };
        assert!(matches!(waiting.hand_off(id, record()), Handoff::Delivered));
        drop(place);
        assert!(matches!(waiting.hand_off(id, record()), Handoff::Unclaimed(_)));
    }

    #[test]
    fn a_call_that_was_decided_about_here_goes_on() {
        let (waiting, id) = (PendingApprovals::default(), ApprovalId::fresh());
        let place = waiting.register(id);
        place.mark_resumed();
        assert!(matches!(waiting.hand_off(id, record()), Handoff::Delivered));
    }
}
