//! Who is asked when nobody sits at a terminal: somebody later, or somebody elsewhere.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::{ApprovalRequest, ApprovalStore, Approver, Asked, BoxFuture};

/// Puts every question aside: the run pauses, and is taken up when somebody has decided.
#[derive(Debug, Clone, Copy, Default)]
pub struct AskLater;

impl Approver for AskLater {
    fn ask<'a>(&'a self, _request: &'a ApprovalRequest) -> BoxFuture<'a, Asked> {
        Box::pin(std::future::ready(Asked::Later))
    }
}

/// How often the store is looked at: a person does not notice a quarter of a second.
const LOOK: Duration = Duration::from_millis(250);

/// Waits for a decision that another process writes into the store.
pub struct WaitForDecision {
    store: Arc<dyn ApprovalStore>,
}

impl WaitForDecision {
    /// Looks into this store. How long is the engine's approval timeout.
    #[must_use]
    pub fn new(store: Arc<dyn ApprovalStore>) -> Self {
        Self { store }
    }
}

impl Approver for WaitForDecision {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Asked> {
        Box::pin(async move {
            loop {
                if let Ok(Some((_, Some(record)))) = self.store.get(request.id).await {
                    return Asked::Decided { decision: record.decision, by: record.decided_by };
                }
                tokio::time::sleep(LOOK).await;
            }
        })
    }
}
