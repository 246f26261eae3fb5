//! Events of all runs, questions and switches, for subscribers that follow more than one run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

/// Maximum number of latest events that are kept for subscribers that reconnect.
const MAX_EVENTS: usize = 1_024;

/// One event.
#[derive(Debug, Clone)]
pub(crate) struct BroadcastEvent {
    /// Sequence number, from 1.
    pub(crate) seq: u64,
    /// The owner who may see the event; `None` for all owners.
    owner: Option<String>,
    /// Name of the event.
    pub(crate) name: &'static str,
    /// The data as JSON.
    pub(crate) data: Arc<str>,
}

impl BroadcastEvent {
    /// Returns whether this owner may see the event.
    pub(crate) fn is_for(&self, owner: &str) -> bool {
        self.owner.as_deref().is_none_or(|own| own == owner)
    }
}

/// The latest events.
pub(crate) struct Broadcast {
    /// Identifies this process in event ids: another process has other sequence numbers.
    pub(crate) series: String,
    events: Mutex<VecDeque<BroadcastEvent>>,
    seq: watch::Sender<u64>,
}

impl Default for Broadcast {
    fn default() -> Self {
        let series = format!("{:08x}", fastrand::u32(..));
        Self { series, events: Mutex::default(), seq: watch::channel(0).0 }
    }
}

impl Broadcast {
    fn lock(&self) -> MutexGuard<'_, VecDeque<BroadcastEvent>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event.
    pub(crate) fn publish(&self, owner: Option<&str>, name: &'static str, row: &impl Serialize) {
        let data: Arc<str> = serde_json::to_string(row).unwrap_or_default().into();
        let mut events = self.lock();
        let seq = *self.seq.borrow() + 1;
        events.push_back(BroadcastEvent { seq, owner: owner.map(str::to_owned), name, data });
        if events.len() > MAX_EVENTS {
            events.pop_front();
        }
        self.seq.send_replace(seq);
    }

    /// Returns the sequence number of the latest event.
    pub(crate) fn last_seq(&self) -> u64 {
        *self.seq.borrow()
    }

    /// Returns the events after this number; `None` if some of them are no longer kept, or if the
    /// number is unknown.
    pub(crate) fn after(&self, last: u64) -> Option<Vec<BroadcastEvent>> {
        let events = self.lock();
        let newest = self.last_seq();
        let oldest = newest + 1 - events.len() as u64;
        (last <= newest && last + 1 >= oldest)
            .then(|| events.iter().filter(|event| event.seq > last).cloned().collect())
    }

    /// Returns a receiver that changes with every event.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.seq.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscriber_gets_missed_events_or_learns_that_they_are_gone() {
        let broadcast = Broadcast::default();
        assert!(broadcast.after(0).unwrap().is_empty());
        for at in 0..MAX_EVENTS as u64 + 5 {
            broadcast.publish(Some("ann"), "run", &at);
        }
        assert!(broadcast.after(4).is_none());
        assert_eq!(broadcast.after(5).unwrap().len(), MAX_EVENTS);
        let rest = broadcast.after(broadcast.last_seq() - 2).unwrap();
        let data: Vec<&str> = rest.iter().map(|event| &*event.data).collect();
        assert_eq!(data, ["1027", "1028"]);
        assert!(broadcast.after(broadcast.last_seq() + 1).is_none());
        assert!(rest[0].is_for("ann") && !rest[0].is_for("ben"));
    }
}
