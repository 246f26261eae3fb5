//! An observer that remembers.

use std::sync::{Mutex, PoisonError};

use toolcrib_core::{BoxFuture, Event, EventKind, Observer};

/// Remembers every event.
#[derive(Default)]
pub struct Recorder {
    events: Mutex<Vec<Event>>,
}

impl Recorder {
    /// The events so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Their kinds, in order.
    #[must_use]
    pub fn kinds(&self) -> Vec<EventKind> {
        self.events().into_iter().map(|event| event.kind).collect()
    }
}

impl Observer for Recorder {
    fn observe<'a>(&'a self, event: &'a Event) -> BoxFuture<'a, ()> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        Box::pin(std::future::ready(()))
    }
}
