//! Questions to people.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoreError;
use crate::BoxFuture;
use crate::approval::{ApprovalRequest, DecisionRecord};
use crate::call::Batch;
use crate::id::{ApprovalId, CallId};

/// A call that waits for a person: what is needed to enter it again at stage 0.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Waiting {
    /// The question.
    pub request: ApprovalRequest,
    /// The batch it came in, holding only this call, with its final arguments; without calls for a question of the model, whose call has
    /// run already.
    pub batch: Batch,
    /// What another process needs to go on with the call: the surroundings of the one that asked, as it wrote them down.
    #[serde(default)]
    pub setup: Value,
}

/// A question with its decision, if there is one.
pub type Question = (Waiting, Option<DecisionRecord>);

/// Questions to people.
pub trait ApprovalStore: Send + Sync {
    /// Stores a question, before it is shown to anybody. An id that is there already is a [`StoreError::Conflict`]: the question and
    /// its decision stay as they are. So is a second question whether one call may run, decided or not ([`ApprovalRequest::approves`]):
    /// [`ApprovalStore::of_call`] has the first.
    fn ask(&self, waiting: Waiting) -> BoxFuture<'_, Result<(), StoreError>>;

    /// A question with its decision.
    fn get(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<Question>, StoreError>>;

    /// The newest question about a call, with its decision.
    fn of_call(&self, call: CallId) -> BoxFuture<'_, Result<Option<Question>, StoreError>>;

    /// Decides once: the first decision wins, a later one is answered with the first. Both tries are in the audit.
    fn decide(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>>;

    /// Questions without a decision, oldest first.
    fn pending(&self) -> BoxFuture<'_, Result<Vec<ApprovalRequest>, StoreError>>;

    /// Questions of an owner with their decisions, newest first, at most `limit`; the history of the inbox.
    fn questions<'a>(
        &'a self,
        owner: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Question>, StoreError>>;

    /// The same, only those older than this one.
    fn questions_before<'a>(
        &'a self,
        owner: &'a str,
        before: ApprovalId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Question>, StoreError>>;
}
