//! `RunControl`: the handle that stops, hands over, or queues a message for a running run.

use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::CancellationToken;
use toolcrib_providers::conversation::UserMessage;

/// The handle of a running run. Clones are the same handle.
#[derive(Debug, Clone, Default)]
pub struct RunControl {
    stop: CancellationToken,
    leave: CancellationToken,
    let_go: CancellationToken,
    inbox: Arc<Mutex<Vec<UserMessage>>>,
}

impl RunControl {
    /// Creates a handle for a run that is about to start.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run immediately: its request is dropped, its tools are cancelled with their
    /// processes, and the text so far stays.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Returns whether the run was told to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Hands the run over at the next step: the current step is completed, then the run is stored
    /// and another process can take it over. No part of the run ends.
    pub fn hand_over(&self) {
        self.leave.cancel();
    }

    /// Hands the run over immediately: its request is dropped and will be sent again; the engine
    /// records the state of its calls.
    pub fn hand_over_now(&self) {
        self.leave.cancel();
        self.let_go.cancel();
    }

    /// Returns whether the run was told to hand over.
    #[must_use]
    pub fn is_handing_over(&self) -> bool {
        self.leave.is_cancelled()
    }

    /// Queues a message for the run: it is inserted before the next request.
    pub fn queue_message(&self, message: UserMessage) {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    /// Takes the messages that the run did not use.
    #[must_use]
    pub fn take_messages(&self) -> Vec<UserMessage> {
        std::mem::take(&mut *self.inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for [`Self::hand_over_now`].
    pub(super) async fn wait_hand_over_now(&self) {
        self.let_go.cancelled().await;
    }

    pub(super) fn token(&self) -> &CancellationToken {
        &self.stop
    }
}
