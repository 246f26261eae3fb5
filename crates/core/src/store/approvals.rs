//! Approval store: questions to people, with their decisions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoreError;
use crate::BoxFuture;
use crate::approval::{ApprovalRequest, DecisionRecord};
use crate::call::Batch;
use crate::id::{ApprovalId, CallId};

/// A suspended call with everything needed to enter the pipeline again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingApproval {
    /// The question.
    pub request: ApprovalRequest,
    /// The batch of the call, holding only this call with its final arguments. A question of the
    /// model has no calls here, because its call has already run.
    pub batch: Batch,
    /// Settings of the process that asked, in its own format, with which another process can resume
    /// the call.
    #[serde(default)]
    pub setup: Value,
}

/// A question with its decision, if any.
pub type ApprovalWithDecision = (PendingApproval, Option<DecisionRecord>);

/// Stores questions and decisions.
pub trait ApprovalStore: Send + Sync {
    /// Stores a question before it is shown. An existing id is a [`StoreError::Conflict`]: the
    /// stored question and its decision stay unchanged. A second question whether the same call may
    /// run is a conflict too, decided or not ([`ApprovalRequest::gated_call`]);
    /// [`ApprovalStore::for_call`] returns the first.
    fn ask(&self, waiting: PendingApproval) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns a question with its decision.
    fn get(
        &self,
        id: ApprovalId,
    ) -> BoxFuture<'_, Result<Option<ApprovalWithDecision>, StoreError>>;

    /// Returns the newest question about a call, with its decision.
    fn for_call(
        &self,
        call: CallId,
    ) -> BoxFuture<'_, Result<Option<ApprovalWithDecision>, StoreError>>;

    /// Stores a decision. The first decision wins; a later one gets the first one back. The audit
    /// records both.
    fn decide(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>>;

    /// Works like [`decide`](Self::decide), without waiting until the decision survives a power
    /// loss; until then it survives only the death of this process. Before answering, the caller
    /// must complete a later write to the same store that survives a power loss, or wait for
    /// [`sync`](Self::sync). Writes become durable in order, so no consequence of the decision is
    /// stored without it.
    fn decide_ahead(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>> {
        self.decide(id, decision)
    }

    /// Waits until everything that was committed before survives a power loss.
    fn sync(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the undecided questions, oldest first.
    fn pending(&self) -> BoxFuture<'_, Result<Vec<ApprovalRequest>, StoreError>>;

    /// Returns questions of an owner with their decisions, newest first, at most `limit`: the
    /// history of the inbox.
    fn list<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ApprovalWithDecision>, StoreError>>;

    /// Returns the page of [`list`](Self::list) after this question.
    fn list_before<'a>(
        &'a self,
        owner: &'a str,
        before: ApprovalId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<ApprovalWithDecision>, StoreError>>;
}
