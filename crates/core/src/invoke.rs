//! The only door to a tool's code.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::approval::{ApprovalRequest, DecisionRecord};
use crate::call::Batch;
use crate::defaults;
use crate::error::ToolError;
use crate::id::{ApprovalId, CallId, RunId};
use crate::outcome::Outcome;
use crate::taint::{Label, Labels, Raised};
use crate::tool::Progress;

/// What comes back for one call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It ended.
    Done(Box<Outcome>),
    /// It waits for a person; [`Invoker::decide`] goes on with it.
    Suspended(Box<ApprovalRequest>),
}

impl Answer {
    /// The outcome, if the call ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Done(outcome) => Some(outcome),
            Self::Suspended(_) => None,
        }
    }
}

/// What a run may use. `None` = no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLimits {
    /// Calls.
    pub calls: Option<u64>,
    /// Tokens, estimated where nobody reports them.
    pub tokens: Option<u64>,
    /// Time that models and tools took, waiting for people excluded.
    pub time: Option<Duration>,
}

impl Default for RunLimits {
    /// 500 calls and 1 h, no token cap (DESIGN 9, Budgets).
    fn default() -> Self {
        Self { calls: Some(defaults::RUN_CALLS), tokens: None, time: Some(defaults::RUN_TIME) }
    }
}

/// A run to be opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunSpec {
    /// Its id; `None` = a fresh one. A run that another process began goes on under the id that its approvals are bound to.
    pub id: Option<RunId>,
    /// What it had used before this process took it over.
    pub used: RunUsage,
    /// The run that pays for it too.
    pub parent: Option<RunId>,
    /// What it may use itself.
    pub limits: RunLimits,
    /// What was read before it, in its conversation or by a process that has died; those of its parent are added.
    pub labels: Labels,
}

/// What a run has used, its child runs included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunUsage {
    /// Calls that passed the budget stage.
    pub calls: u64,
    /// Tokens, estimated where nobody reported them.
    pub tokens: u64,
    /// Time that models and tools took.
    pub time: Duration,
}

/// Is told what happens to the calls of one batch while it runs. It is called in place: it may look and pass on, and returns at once.
pub trait Watch: Send + Sync {
    /// Whether whoever watches puts questions to a person itself. Calls from outside that need one are suspended for it then, with their
    /// question stored, where they would be denied otherwise; whoever watches decides about them, or leaves them in the inbox.
    fn takes_questions(&self) -> bool {
        false
    }

    /// A person is about to be asked; the question is stored.
    fn asked(&self, request: &ApprovalRequest) {
        let _ = request;
    }

    /// A person decided.
    fn decided(&self, request: &ApprovalRequest, record: &DecisionRecord) {
        let _ = (request, record);
    }

    /// A call that runs says how far it is.
    fn progressed(&self, call: CallId, progress: &Progress) {
        let _ = (call, progress);
    }

    /// A call has its answer; those of a batch come in the order in which they are done.
    fn answered(&self, answer: &Answer) {
        let _ = answer;
    }
}

/// The one door: every surface is an equal caller of it.
pub trait Invoker: Send + Sync {
    /// Runs a batch: one answer per call, in the order of the calls.
    fn invoke(&self, batch: Batch) -> BoxFuture<'_, Vec<Answer>>;

    /// The same with somebody who watches.
    fn invoke_watched(&self, batch: Batch, watch: Arc<dyn Watch>) -> BoxFuture<'_, Vec<Answer>>;

    /// Decides about a waiting call and goes on with it; `None` = it waits in another task of this process and goes on there. A second
    /// decision gets the first one back as the error. The time of the decision is set by whoever stores it.
    fn decide(
        &self,
        approval: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Option<Answer>, DecideError>>;

    /// Goes on with a call whose question was decided about before, by a process that has died or a surface that only wrote the decision
    /// down. A call that has its outcome is answered with it and does not run again; `None` = it goes on in another task of this process.
    fn go_on(&self, approval: ApprovalId) -> BoxFuture<'_, Result<Option<Answer>, DecideError>>;

    /// Opens a run with its budgets.
    ///
    /// # Errors
    /// `execution_error` when the parent is not open, or the id is open already.
    fn open_run(&self, spec: RunSpec) -> Result<RunId, ToolError>;

    /// Adds tokens that a model reported to a run and its parents; an error when a cap is now exceeded.
    ///
    /// # Errors
    /// `budget_exceeded`.
    fn charge_tokens(&self, run: RunId, tokens: u64) -> Result<(), ToolError>;

    /// Adds time that a model took to a run and its parents.
    fn charge_time(&self, run: RunId, time: Duration);

    /// What a run has read so far; `None` = it is not open.
    fn labels(&self, run: RunId) -> Option<Labels>;

    /// Something was read that no call of ours brought: what the provider of the model looked up itself. The results of calls need no
    /// telling. Nothing happens when the run is not open.
    fn raise(&self, run: RunId, label: Label, by: Raised);

    /// What a run has used; `None` = it is not open.
    fn usage(&self, run: RunId) -> Option<RunUsage>;

    /// Stops every call of a run and its child runs.
    fn cancel_run(&self, run: RunId);

    /// Ends a run and says what it used.
    fn close_run(&self, run: RunId) -> Option<RunUsage>;
}

/// Why a decision was not taken.
#[derive(Debug, Clone, thiserror::Error, PartialEq)]
pub enum DecideError {
    /// No such question.
    #[error("no approval request has this id")]
    NotFound,
    /// It was decided before: this is the first decision, which stands.
    #[error("already decided by {}", .0.decided_by)]
    AlreadyDecided(Box<DecisionRecord>),
    /// Nobody has decided yet.
    #[error("nobody has decided about it yet")]
    Undecided,
    /// The model's own questions are answered or skipped, those about a call are decided.
    #[error(
        "a question of the model is answered or skipped, and one about a call is decided; this is the other kind"
    )]
    Unfit,
    /// Its deadline has passed; the outcome is `expired`.
    #[error("the approval request has expired")]
    Expired,
    /// The store failed.
    #[error("{0}")]
    Store(String),
}
