//! Calls that wait for a person right here: a decision that arrives on another surface is handed to them, so that no call ever runs in two
//! pipelines.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;
use toolcrib_core::{ApprovalId, DecisionRecord};

type Places = Arc<Mutex<HashMap<ApprovalId, oneshot::Sender<DecisionRecord>>>>;

/// All calls that wait.
#[derive(Default)]
pub(crate) struct WaitingCalls {
    places: Places,
}

/// The place of one waiting call; it is given up when dropped.
pub(crate) struct Place {
    id: ApprovalId,
    decided: oneshot::Receiver<DecisionRecord>,
    places: Places,
}

impl WaitingCalls {
    /// Begins to wait.
    pub(crate) fn enter(&self, id: ApprovalId) -> Place {
        let (sender, decided) = oneshot::channel();
        self.places.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        Place { id, decided, places: Arc::clone(&self.places) }
    }

    /// Hands a decision to the call that waits for it; `false` = none does.
    pub(crate) fn hand_over(&self, id: ApprovalId, record: DecisionRecord) -> bool {
        // Sent under the lock: whoever leaves finds either the decision or the place still free to be decided elsewhere.
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.remove(&id).is_some_and(|sender| sender.send(record).is_ok())
    }
}

impl Place {
    /// Waits no longer, unless the decision came just now. A later one is for a call that is suspended.
    pub(crate) fn leave(mut self) -> Option<DecisionRecord> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        self.decided.try_recv().ok()
    }
}

impl Future for Place {
    type Output = Result<DecisionRecord, oneshot::error::RecvError>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.decided).poll(context)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::Decision;

    #[test]
    fn a_decision_is_either_handed_over_or_left_to_the_store() {
        let record =
            || DecisionRecord { decision: Decision::Skip, decided_by: "ann".into(), decided_at: 0 };
        let (waiting, id) = (WaitingCalls::default(), ApprovalId::fresh());
        let place = waiting.enter(id);
        assert!(waiting.hand_over(id, record()));
        assert_eq!(place.leave(), Some(record()));
        let place = waiting.enter(id);
        assert_eq!(place.leave(), None);
        assert!(!waiting.hand_over(id, record()));
    }
}
