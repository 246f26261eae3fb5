//! Calls that wait for a person right here, and those that go on since somebody decided: a decision that arrives on another surface is handed to
//! them, so that no call is ever in two pipelines of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use toolcrib_core::{ApprovalId, DecisionRecord};

/// How a call stands.
enum Seat {
    /// It waits for a decision.
    Waiting(oneshot::Sender<DecisionRecord>),
    /// It was decided about, and goes on until its pipeline ends.
    Going,
}

type Seats = Arc<Mutex<HashMap<ApprovalId, Seat>>>;

fn lock(seats: &Seats) -> MutexGuard<'_, HashMap<ApprovalId, Seat>> {
    seats.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All calls that wait, or go on.
#[derive(Default)]
pub(crate) struct WaitingCalls {
    seats: Seats,
}

/// The place of one call; it is given up when dropped.
pub(crate) struct Place {
    id: ApprovalId,
    decided: Option<oneshot::Receiver<DecisionRecord>>,
    /// Whether the place was given up: what stands there now is somebody else's.
    is_left: bool,
    seats: Seats,
}

/// Where a decision went.
pub(crate) enum Handed {
    /// To the call, which goes on in its own task.
    There,
    /// Nobody has the call here: whoever holds this place goes on with it.
    Free(Place),
}

impl WaitingCalls {
    /// Begins to wait.
    pub(crate) fn enter(&self, id: ApprovalId) -> Place {
        let (sender, decided) = oneshot::channel();
        lock(&self.seats).insert(id, Seat::Waiting(sender));
        Place { id, decided: Some(decided), is_left: false, seats: Arc::clone(&self.seats) }
    }

    /// Hands a decision to a call that waits for it here; `false` = none does.
    pub(crate) fn tell(&self, id: ApprovalId, record: &DecisionRecord) -> bool {
        let is_waiting = matches!(lock(&self.seats).get(&id), Some(Seat::Waiting(_)));
        is_waiting && matches!(self.hand_over(id, record.clone()), Handed::There)
    }

    /// Hands a decision to the call that waits for it.
    pub(crate) fn hand_over(&self, id: ApprovalId, record: DecisionRecord) -> Handed {
        // Under the lock: whoever leaves finds either the decision or the place still free to be decided elsewhere.
        let mut seats = lock(&self.seats);
        match seats.insert(id, Seat::Going) {
            Some(Seat::Waiting(sender)) => {
                // The place is there, and with it whoever listens.
                let _ = sender.send(record);
                Handed::There
            }
            Some(Seat::Going) => Handed::There,
            None => {
                let seats = Arc::clone(&self.seats);
                Handed::Free(Place { id, decided: None, is_left: false, seats })
            }
        }
    }
}

impl Place {
    /// The decision, when it comes from another surface.
    pub(crate) async fn decision(&mut self) -> Option<DecisionRecord> {
        match &mut self.decided {
            Some(decided) => decided.await.ok(),
            None => None,
        }
    }

    /// The call was decided about here, and goes on.
    pub(crate) fn goes_on(&self) {
        lock(&self.seats).insert(self.id, Seat::Going);
    }

    /// Waits no longer, unless the decision came just now. A later one is for a call that is suspended.
    pub(crate) fn leave(&mut self) -> Option<DecisionRecord> {
        let mut seats = lock(&self.seats);
        if let Some(Seat::Waiting(_)) = seats.get(&self.id) {
            seats.remove(&self.id);
            self.is_left = true;
        }
        self.decided.as_mut()?.try_recv().ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_left {
            lock(&self.seats).remove(&self.id);
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
        let (waiting, id) = (WaitingCalls::default(), ApprovalId::fresh());
        let mut place = waiting.enter(id);
        assert!(matches!(waiting.hand_over(id, record()), Handed::There));
        assert_eq!(place.leave(), Some(record()));
        // It goes on, so nobody else does, until it is over.
        assert!(matches!(waiting.hand_over(id, record()), Handed::There));
        drop(place);
        let mut place = waiting.enter(id);
        assert_eq!(place.leave(), None);
        drop(place);
        let Handed::Free(place) = waiting.hand_over(id, record()) else {
            panic!("nobody is there")
        };
        assert!(matches!(waiting.hand_over(id, record()), Handed::There));
        drop(place);
        assert!(matches!(waiting.hand_over(id, record()), Handed::Free(_)));
    }

    #[test]
    fn a_call_that_was_decided_about_here_goes_on() {
        let (waiting, id) = (WaitingCalls::default(), ApprovalId::fresh());
        let place = waiting.enter(id);
        place.goes_on();
        assert!(matches!(waiting.hand_over(id, record()), Handed::There));
    }
}
