//! What reaches a run from outside while it works: messages, and the order to stop.

use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::CancellationToken;
use toolcrib_providers::chat::UserMessage;

/// The handle of a run that is at work. Clones are the same handle.
#[derive(Debug, Clone, Default)]
pub struct Control {
    stop: CancellationToken,
    leave: CancellationToken,
    let_go: CancellationToken,
    inbox: Arc<Mutex<Vec<UserMessage>>>,
}

impl Control {
    /// A handle for a run that is about to begin.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run at once: its request is dropped, its tools are cancelled with their processes, what was said stays.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Whether it was told to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Puts the run down at the next boundary: what it does now, it does to its end; then it is stored as it is, for whoever takes it up. Nothing
    /// of it is ended.
    pub fn leave(&self) {
        self.leave.cancel();
    }

    /// Puts the run down at once: its request is dropped and is asked again later; of its calls the door records what it knows.
    pub fn let_go(&self) {
        self.leave.cancel();
        self.let_go.cancel();
    }

    /// Whether it was told to be put down.
    #[must_use]
    pub fn is_left(&self) -> bool {
        self.leave.is_cancelled()
    }

    /// Says something to the run: it is injected at the next boundary.
    pub fn say(&self, message: UserMessage) {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    /// Messages that the run did not take any more.
    #[must_use]
    pub fn take(&self) -> Vec<UserMessage> {
        std::mem::take(&mut *self.inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends when the run is to be let go of.
    pub(super) async fn gone(&self) {
        self.let_go.cancelled().await;
    }

    pub(super) fn token(&self) -> &CancellationToken {
        &self.stop
    }
}
