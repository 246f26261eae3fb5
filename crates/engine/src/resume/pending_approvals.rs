//! The calls of this process that wait for a decision, and those that were resumed by one. A
//! decision that arrives on another surface is delivered to them, so that no call is in two
//! pipelines of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use toolcrib_core::{ApprovalId, DecisionRecord};

/// State of a call with a question.
enum ApprovalState {
    /// It waits for a decision.
    Waiting(oneshot::Sender<DecisionRecord>),
    /// The decision was delivered, and the call runs until its pipeline ends.
    Resumed,
}

type ApprovalTable = Arc<Mutex<HashMap<ApprovalId, ApprovalState>>>;

fn lock(calls: &ApprovalTable) -> MutexGuard<'_, HashMap<ApprovalId, ApprovalState>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All calls that wait or were resumed.
#[derive(Default)]
pub(crate) struct PendingApprovals {
    calls: ApprovalTable,
}

/// The entry of one call, removed when dropped.
pub(crate) struct ApprovalHandle {
    id: ApprovalId,
    decided: Option<oneshot::Receiver<DecisionRecord>>,
    /// Whether the entry was removed. A new entry under this id then belongs to another task.
    is_left: bool,
    calls: ApprovalTable,
}

/// Recipient of a decision.
pub(crate) enum Handoff {
    /// The call, which continues in its own task.
    Delivered,
    /// No task of this process has the call: the holder of this handle resumes it.
    Unclaimed(ApprovalHandle),
}

impl PendingApprovals {
    /// Registers a call that waits for a decision.
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

    /// Delivers a decision to a call that waits for it in this process; `false` if none does.
    pub(crate) fn deliver(&self, id: ApprovalId, record: &DecisionRecord) -> bool {
        let is_waiting = matches!(lock(&self.calls).get(&id), Some(ApprovalState::Waiting(_)));
        is_waiting && matches!(self.hand_off(id, record.clone()), Handoff::Delivered)
    }

    /// Delivers a decision to the call that waits for it, or returns a handle with which the caller
    /// resumes the call.
    pub(crate) fn hand_off(&self, id: ApprovalId, record: DecisionRecord) -> Handoff {
        // Send while holding the lock: a task that withdraws finds either the decision or no entry.
        let mut calls = lock(&self.calls);
        match calls.insert(id, ApprovalState::Resumed) {
            Some(ApprovalState::Waiting(sender)) => {
                // The entry exists, so its receiver exists too.
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
    /// Waits for a decision from another surface.
    pub(crate) async fn decision(&mut self) -> Option<DecisionRecord> {
        match &mut self.decided {
            Some(decided) => decided.await.ok(),
            None => None,
        }
    }

    /// Marks the call as decided and resumed in this process.
    pub(crate) fn mark_resumed(&self) {
        lock(&self.calls).insert(self.id, ApprovalState::Resumed);
    }

    /// Stops waiting, and returns the decision if it has just arrived. Later decisions apply to a
    /// suspended call.
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
