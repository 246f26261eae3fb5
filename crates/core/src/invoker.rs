//! The invoker: the single entry to the pipeline of tool calls.

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
use crate::taint::{Label, LabelSource, Labels};
use crate::tool::Progress;

/// The answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The call ended.
    Done(Box<Outcome>),
    /// The call waits for a person; [`Invoker::decide`] resumes it.
    Suspended(Box<ApprovalRequest>),
}

impl Answer {
    /// Returns the outcome, if the call ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Done(outcome) => Some(outcome),
            Self::Suspended(_) => None,
        }
    }
}

/// Budgets of a run; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLimits {
    /// Number of calls.
    pub calls: Option<u64>,
    /// Number of tokens, estimated where the provider does not report them.
    pub tokens: Option<u64>,
    /// Time of models and tools, excluding waiting for people.
    pub time: Option<Duration>,
}

impl Default for RunLimits {
    /// Returns 500 calls and 1 h of working time, without a token limit.
    fn default() -> Self {
        Self { calls: Some(defaults::RUN_CALLS), tokens: None, time: Some(defaults::RUN_TIME) }
    }
}

/// Parameters of a run to open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunSpec {
    /// Id; `None` creates a new one. A run that another process began keeps the id that its
    /// approvals are bound to.
    pub id: Option<RunId>,
    /// Usage before this process took the run over.
    pub used: RunUsage,
    /// Parent run, which is charged too.
    pub parent: Option<RunId>,
    /// The run's own budgets.
    pub limits: RunLimits,
    /// Labels from before the run: of its conversation, or of the process that died. Labels of the
    /// parent are added.
    pub labels: Labels,
}

/// Usage of a run, including its child runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunUsage {
    /// Calls that passed the budget stage.
    pub calls: u64,
    /// Tokens, estimated where the provider did not report them.
    pub tokens: u64,
    /// Time of models and tools.
    pub time: Duration,
}

/// Receives events of the calls of one batch while it runs. The engine calls it synchronously on
/// the path of the call, so implementations must return at once.
pub trait BatchSubscriber: Send + Sync {
    /// Returns whether the subscriber asks a person itself. A call from outside that needs an
    /// approval is then suspended with a stored question, instead of being denied; the subscriber
    /// decides it or leaves it in the inbox.
    fn handles_approvals(&self) -> bool {
        false
    }

    /// Called when a question is stored and about to be shown to a person.
    fn on_approval_request(&self, request: &ApprovalRequest) {
        let _ = request;
    }

    /// Called when a decision was made.
    fn on_decision(&self, request: &ApprovalRequest, record: &DecisionRecord) {
        let _ = (request, record);
    }

    /// Called when a running call reports progress.
    fn on_progress(&self, call: CallId, progress: &Progress) {
        let _ = (call, progress);
    }

    /// Called when a call has its answer. Answers arrive in order of completion, not in the order
    /// of the batch.
    fn on_answer(&self, answer: &Answer) {
        let _ = answer;
    }
}

/// The single entry to the pipeline: the agent loop, REST, MCP and the command line all call tools
/// through it.
pub trait Invoker: Send + Sync {
    /// Runs a batch: one answer per call, in the order of the calls.
    fn invoke(&self, batch: Batch) -> BoxFuture<'_, Vec<Answer>>;

    /// Runs a batch and reports its events to a subscriber.
    fn invoke_with_subscriber(
        &self,
        batch: Batch,
        watch: Arc<dyn BatchSubscriber>,
    ) -> BoxFuture<'_, Vec<Answer>>;

    /// Answers calls with this error without running them, and records them like calls that a stage
    /// refused: each call of a model has one outcome, even if its run ends before the call starts.
    fn refuse(&self, batch: Batch, error: ToolError) -> BoxFuture<'_, Vec<Answer>>;

    /// Decides about a suspended call and resumes it. `None` means that another task of this
    /// process waits for the decision and resumes the call. A second decision returns the first one
    /// as the error. The store sets the time of the decision.
    fn decide(
        &self,
        approval: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Option<Answer>, DecideError>>;

    /// Resumes a call whose question was decided earlier, by a process that has died or by a client
    /// that only stored the decision. A call with an outcome returns it and does not run again.
    /// `None` means that another task of this process resumes the call.
    fn resume(&self, approval: ApprovalId) -> BoxFuture<'_, Result<Option<Answer>, DecideError>>;

    /// Opens a run with its budgets.
    ///
    /// # Errors
    /// `execution_error` if the parent is not open, or the id is already open.
    fn open_run(&self, spec: RunSpec) -> Result<RunId, ToolError>;

    /// Charges tokens that a model reported to a run and its parents.
    ///
    /// # Errors
    /// `budget_exceeded` if a limit is now exceeded.
    fn charge_tokens(&self, run: RunId, tokens: u64) -> Result<(), ToolError>;

    /// Charges a model's time to a run and its parents.
    fn charge_time(&self, run: RunId, time: Duration);

    /// Returns the taint labels of a run; `None` if it is not open.
    fn labels(&self, run: RunId) -> Option<Labels>;

    /// Raises a label for something that no call returned, such as a search by the model's
    /// provider. Results of calls raise labels automatically. Does nothing if the run is not open.
    fn raise_label(&self, run: RunId, label: Label, by: LabelSource);

    /// Returns the usage of a run; `None` if it is not open.
    fn usage(&self, run: RunId) -> Option<RunUsage>;

    /// Cancels every call of a run and its child runs.
    fn cancel_run(&self, run: RunId);

    /// Closes a run and returns its usage.
    fn close_run(&self, run: RunId) -> Option<RunUsage>;
}

/// Why a decision was rejected.
#[derive(Debug, Clone, thiserror::Error, PartialEq)]
pub enum DecideError {
    /// No question has this id.
    #[error("no approval request has this id")]
    NotFound,
    /// Already decided; this is the first decision, which remains in force.
    #[error("already decided by {}", .0.decided_by)]
    AlreadyDecided(Box<DecisionRecord>),
    /// There is no decision yet.
    #[error("there is no decision yet")]
    Undecided,
    /// The decision does not match the kind of question: questions of the model are answered or
    /// skipped, questions about a call are decided.
    #[error(
        "this decision does not fit the question: answer or skip a question of the model; approve, deny or edit a call"
    )]
    WrongKind,
    /// Edited arguments keep a masked secret while others change, and the editor may not read that
    /// secret: the edit could send it elsewhere.
    #[error(
        "the edit contains `***` in place of a secret, and changes other arguments: write the value itself, omit that argument, or approve the call unchanged"
    )]
    KeepsMask,
    /// The deadline has passed; the outcome is `expired`.
    #[error("the approval request has expired")]
    Expired,
    /// This process cannot run the call as it was requested: it uses another workspace, other
    /// settings, or lacks the tool. Nothing was decided or run. The text names the difference and
    /// the remedy.
    #[error("{0}")]
    OtherEnvironment(String),
    /// The store failed.
    #[error("{0}")]
    Store(String),
}
