//! Approvers for runs without a terminal: defer the question, or wait for a decision in the store.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::{ApprovalRequest, ApprovalStore, Approver, ApproverReply, BoxFuture};

/// Defers every question: the run pauses and continues after the decision.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeferApproval;

impl Approver for DeferApproval {
    fn ask<'a>(&'a self, _request: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        Box::pin(std::future::ready(ApproverReply::Deferred))
    }
}

/// Poll interval; a person does not notice a quarter of a second.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Waits for a decision that another process writes into the store.
pub struct WaitForDecision {
    store: Arc<dyn ApprovalStore>,
}

impl WaitForDecision {
    /// Creates an approver that polls this store, up to the engine's approval timeout.
    #[must_use]
    pub fn new(store: Arc<dyn ApprovalStore>) -> Self {
        Self { store }
    }
}

impl Approver for WaitForDecision {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        Box::pin(async move {
            loop {
                if let Ok(Some((_, Some(record)))) = self.store.get(request.id).await {
                    return ApproverReply::Decided {
                        decision: record.decision,
                        by: record.decided_by,
                    };
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        })
    }
}
