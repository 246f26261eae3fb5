//! What is remembered, behind traits: an in-memory form lives in the engine, databases in the store crate.

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::approval::{ApprovalRequest, DecisionRecord, ReasonKind};
use crate::call::{Batch, Context, Origin};
use crate::error::ErrorType;
use crate::grant::{Grant, GrantQuery};
use crate::id::{ApprovalId, CallId, GrantId, RunId};
use crate::name::ToolName;
use crate::outcome::OutcomeKind;
use crate::spec::Effect;

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// The record is already there or already decided.
    #[error("already recorded: {0}")]
    Conflict(String),
    /// A newer owner has taken the record over.
    #[error("the record belongs to epoch {current}, not {claimed}")]
    Fenced {
        /// Epoch of the record.
        current: u64,
        /// Epoch that tried to write.
        claimed: u64,
    },
    /// No such record.
    #[error("no such record: {0}")]
    Missing(String),
    /// The store itself failed.
    #[error("store failed: {0}")]
    Failed(String),
}

/// "Started": written before anything runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// The call.
    pub call: CallId,
    /// Its run.
    pub run: Option<RunId>,
    /// The tool.
    pub tool: ToolName,
    /// Who asks.
    pub origin: Origin,
    /// What the call may change: decides what a crash means.
    pub effect: Effect,
    /// Whose call it is.
    pub context: std::sync::Arc<Context>,
    /// SHA-256 of the canonical arguments, where the effect makes it worth computing.
    pub args_hash: Option<String>,
    /// Fencing number of whoever runs it.
    pub epoch: u64,
}

/// "Finished": one per call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The call.
    pub call: CallId,
    /// Its run.
    pub run: Option<RunId>,
    /// Canonical name, when it was found.
    pub tool: Option<ToolName>,
    /// Name as it was asked for, when it is not the canonical one.
    pub asked: Option<String>,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// Why, when it failed.
    pub error_type: Option<ErrorType>,
    /// Attempts that were started.
    pub attempts: u32,
    /// Nanoseconds that the tool ran.
    pub run_nanos: u64,
    /// Fencing number of whoever ran it.
    pub epoch: u64,
}

/// One step in the life of a call, as a store reports it.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// It was started.
    Started(CallId),
    /// It ended.
    Settled(CallRecord),
}

/// Calls and their outcomes.
pub trait CallStore: Send + Sync {
    /// Takes charge of calls as a new owner; records of smaller epochs are then fenced off.
    fn claim(&self) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Records that a call starts. No intent record, no run.
    fn begin(&self, intent: Intent) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Records the one outcome of a call; a second one is a [`StoreError::Conflict`]. A call that never started has no intent.
    fn settle(&self, record: CallRecord) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The outcome of a call.
    fn outcome(&self, call: CallId) -> BoxFuture<'_, Result<Option<CallRecord>, StoreError>>;

    /// Calls that were started and have no outcome.
    fn open(&self) -> BoxFuture<'_, Result<Vec<CallId>, StoreError>>;

    /// Changes after position `since` (0 = from the first that is kept), and the position after them.
    fn changes(&self, since: u64) -> BoxFuture<'_, Result<(u64, Vec<Change>), StoreError>>;
}

/// A call that waits for a person: what is needed to enter it again at stage 0.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Waiting {
    /// The question.
    pub request: ApprovalRequest,
    /// The batch it came in, holding only this call, with its final arguments.
    pub batch: Batch,
}

/// A question with its decision, if there is one.
pub type Question = (Waiting, Option<DecisionRecord>);

/// Questions to people.
pub trait ApprovalStore: Send + Sync {
    /// Stores a question, before it is shown to anybody. An id that is there already is a [`StoreError::Conflict`]: the question and
    /// its decision stay as they are.
    fn ask(&self, waiting: Waiting) -> BoxFuture<'_, Result<(), StoreError>>;

    /// A question with its decision.
    fn get(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<Question>, StoreError>>;

    /// Decides once: the first decision wins, a later one is answered with the first.
    fn decide(
        &self,
        id: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Result<(), DecisionRecord>, StoreError>>;

    /// Questions without a decision, oldest first.
    fn pending(&self) -> BoxFuture<'_, Result<Vec<ApprovalRequest>, StoreError>>;
}

/// Remembered approvals.
pub trait GrantStore: Send + Sync {
    /// Remembers one; an id that is there already is a [`StoreError::Conflict`].
    fn add(&self, grant: Grant) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The grant that answers a question of this kind for this call.
    fn find<'a>(
        &'a self,
        query: GrantQuery<'a>,
        reason: ReasonKind,
    ) -> BoxFuture<'a, Result<Option<Grant>, StoreError>>;

    /// All of an owner, oldest first.
    fn list<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>>;

    /// Takes one back; `false` = there is none.
    fn revoke(&self, id: GrantId) -> BoxFuture<'_, Result<bool, StoreError>>;
}
