//! Explains one call from all stored information: its stages, the decision and rule of policy, its
//! approver, and its audit records.

use serde::{Deserialize, Serialize};
use toolcrib_core::store::PendingApproval as WaitingCall;
use toolcrib_core::{
    AuditRow, CallFilter, CallId, CallRow, DecisionRecord, Grant, InterruptedAttempt, Labels,
    Outcome, Ruling, StageRecord, WorkerState,
};

use super::document::CallDocument;
use super::history::hide_payloads;
use super::lookup::CallLookup;
use super::undone::undone_at;
use crate::context::StoreContext;
use crate::error::OpError;

/// Maximum number of listed child calls.
pub const CHILDREN_LIMIT: usize = 200;

/// The call to explain.
#[derive(Debug, Clone, Copy)]
pub struct ExplainCallRequest {
    /// Its id.
    pub call: CallId,
}

/// All stored information about a call. Fields that contain payloads are empty for callers that may
/// not see them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExplainCallReply {
    /// The call.
    pub call: CallId,
    /// Its state and its result.
    pub document: CallDocument,
    /// Its row; `None` if the call was not received yet.
    pub row: Option<CallRow>,
    /// The stages that it passed.
    pub stages: Vec<StageRecord>,
    /// The decision of policy.
    pub ruling: Option<Ruling>,
    /// Taint labels of its run from before the call.
    pub labels: Option<Labels>,
    /// Its outcome with the complete report; `None` also if the caller sees no payloads.
    pub outcome: Option<Outcome>,
    /// The process that runs it; `None` if the call is not open.
    pub worker: Option<CallWorker>,
    /// Earlier attempts that ended with their process.
    pub earlier: Vec<InterruptedAttempt>,
    /// The newest question about it; `None` also if the caller sees no payloads.
    pub question: Option<AskedQuestion>,
    /// Remembered approvals of its operation that existed when it was received.
    pub grants: Vec<Grant>,
    /// Audit records about it.
    pub audit: Vec<AuditRow>,
    /// Its child calls, such as those of a script, oldest first; at most [`CHILDREN_LIMIT`].
    pub children: Vec<CallRow>,
    /// Time at which its changes were undone, in milliseconds since 1970; `None` if they were not
    /// undone, or were redone since.
    pub undone_at: Option<i64>,
}

/// A question to a person about a call, and the decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AskedQuestion {
    /// The question, with the waiting call.
    pub waiting: WaitingCall,
    /// The decision, once there is one.
    pub decision: Option<DecisionRecord>,
}

/// The process that a call belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CallWorker {
    /// The process runs.
    Alive {
        /// Its name, such as `process 4711`.
        who: String,
    },
    /// The process has ended.
    Gone,
    /// No process ever claimed this number.
    Unknown,
}

impl From<WorkerState> for CallWorker {
    fn from(state: WorkerState) -> Self {
        match state {
            WorkerState::Alive(who) => Self::Alive { who },
            WorkerState::Gone => Self::Gone,
            WorkerState::Unknown => Self::Unknown,
        }
    }
}

/// Explains a call.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn explain(
    ctx: &StoreContext<'_>,
    request: ExplainCallRequest,
) -> Result<ExplainCallReply, OpError> {
    let call = request.call;
    let known = CallLookup::find(ctx, call).await?;
    let document = known.document(call);
    let grants = if ctx.shows_payloads { matching_grants(ctx, &known).await? } else { Vec::new() };
    let audit = ctx.stores.audit.records_of(call).await?;
    let worker = worker(ctx, &known).await?;
    let children = children(ctx, call).await?;
    let (row, outcome, earlier) = match known.stored {
        Some(stored) => (Some(stored.row), stored.outcome, stored.earlier),
        None => (None, None, Vec::new()),
    };
    let report = outcome.as_ref().map(|outcome| &outcome.report);
    let question = known.question;
    let reply = ExplainCallReply {
        call,
        document,
        stages: report.map(|report| report.stages.clone()).unwrap_or_default(),
        ruling: report.and_then(|report| report.ruling.clone()),
        labels: report.map(|report| report.labels.clone()),
        row,
        outcome,
        worker,
        earlier,
        question: question.map(|(waiting, decision)| AskedQuestion { waiting, decision }),
        grants,
        children,
        undone_at: undone_at(&audit),
        audit,
    };
    Ok(if ctx.shows_payloads { reply } else { without_payloads(reply) })
}

fn without_payloads(mut reply: ExplainCallReply) -> ExplainCallReply {
    reply.row.iter_mut().chain(&mut reply.children).for_each(hide_payloads);
    // The note of a stage may repeat arguments.
    reply.stages.iter_mut().for_each(|stage| stage.note = "".into());
    ExplainCallReply {
        document: reply.document.without_payloads(),
        ruling: None,
        labels: None,
        outcome: None,
        question: None,
        audit: Vec::new(),
        ..reply
    }
}

async fn children(ctx: &StoreContext<'_>, call: CallId) -> Result<Vec<CallRow>, OpError> {
    let owner = ctx.owner.to_owned();
    let parent = Some(call);
    let filter = CallFilter { owner, parent, limit: CHILDREN_LIMIT, ..CallFilter::default() };
    let mut rows = ctx.stores.history.calls(filter).await?;
    rows.reverse();
    Ok(rows)
}

async fn worker(ctx: &StoreContext<'_>, known: &CallLookup) -> Result<Option<CallWorker>, OpError> {
    match known.stored.as_ref().filter(|stored| stored.row.end.is_none()) {
        None => Ok(None),
        Some(stored) => Ok(Some(ctx.stores.calls.worker(stored.row.epoch).await?.into())),
    }
}

async fn matching_grants(
    ctx: &StoreContext<'_>,
    known: &CallLookup,
) -> Result<Vec<Grant>, OpError> {
    let Some(stored) = &known.stored else { return Ok(Vec::new()) };
    let facts = &stored.row.facts;
    let mut grants = ctx.stores.grants.list(ctx.owner).await?;
    grants.retain(|grant| {
        facts.operation.as_ref() == Some(&grant.operation)
            && facts.definition_hash.as_ref() == Some(&grant.definition_hash)
            && grant.created_at <= facts.received_at
    });
    Ok(grants)
}
