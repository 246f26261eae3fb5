//! A dry run: the call passes the same stages up to policy, and nothing of it is recorded, asked,
//! charged or sent to observers.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{ApprovalReason, Batch, Report, ToolError, ToolName};

use crate::batch_scope::{BatchScope, ScopeOptions, ScopeOwner};
use crate::call_state::CallState;
use crate::engine_inner::EngineInner;
use crate::pipeline;
use crate::stage::approve::{self, ChannelAction};
use crate::stage::step::StageExit;

/// What would become of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct DryRunReport {
    /// The name as it was asked for.
    pub asked: String,
    /// The tool, when there is one.
    pub tool: Option<ToolName>,
    /// The arguments that it would run with, secrets masked; null when they could not be read.
    pub args: Value,
    /// The stages it passed, with operation, risk, effect, reach, and what policy says.
    pub report: Report,
    /// Why it would not run.
    pub refused: Option<ToolError>,
    /// Why a person would be asked.
    pub asks: Vec<ApprovalReason>,
    /// What asking means here; `None` = no approver would be asked.
    pub asking: Option<ApprovalRoute>,
}

/// What asking means for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalRoute {
    /// What was approved before answers it.
    Granted,
    /// The approver is asked, and the call waits for the answer.
    Asked,
    /// There is no approver, so the call is denied.
    NoApprover,
    /// It waits in the inbox.
    Inbox,
    /// It is denied, and the inbox gets a question about a new call like it.
    Background,
    /// It is denied: callers from outside are not asked.
    ExternalCaller,
}

impl ApprovalRoute {
    /// In words for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "a grant answers",
            Self::Asked => "a person is asked",
            Self::NoApprover => "no person can be asked here, so it is denied",
            Self::Inbox => "it waits in the inbox",
            Self::Background => "it is denied, and its question is put into the inbox",
            Self::ExternalCaller => "callers from outside are not asked, so it is denied",
        }
    }
}

pub(crate) async fn run(engine: Arc<EngineInner>, batch: Batch) -> Vec<DryRunReport> {
    let run = batch.run.and_then(|id| engine.runs.get(id));
    let Batch { origin, context, view, calls, .. } = batch;
    let owner = ScopeOwner { origin, context, view, run };
    let scope = BatchScope::new(&engine, owner, calls.len(), ScopeOptions::default());
    let mut reports = Vec::with_capacity(calls.len());
    for call in calls {
        reports.push(dry_run_call(CallState::for_dry_run(Arc::clone(&scope), call)).await);
    }
    reports
}

async fn dry_run_call(mut call: CallState) -> DryRunReport {
    let (mut refused, mut asks, mut asking) = (None, Vec::new(), None);
    match pipeline::dry_run(&mut call).await {
        Ok(ruled) => {
            if !ruled.asks().is_empty() {
                let open = approve::unanswered_reasons(&call, &ruled).await;
                asking = Some(approval_route(&call, &open));
            }
            asks = approve::masked(&call.engine().secrets, ruled.asks());
        }
        Err(StageExit::Fail(error)) => refused = Some(error),
        // Only later stages suspend or repeat a call.
        Err(_) => refused = Some(ToolError::execution("a call that is not made was suspended")),
    }
    let report = call.report();
    let secrets = &call.engine().secrets;
    DryRunReport {
        asked: secrets.mask(call.asked.clone()),
        tool: call.facts.tool.as_ref().map(|tool| tool.spec().name.clone()),
        args: call.args.display().map(|args| secrets.mask_json(args)).unwrap_or_default(),
        asks,
        report,
        refused,
        asking,
    }
}

fn approval_route(call: &CallState, open: &[ApprovalReason]) -> ApprovalRoute {
    if open.is_empty() {
        return ApprovalRoute::Granted;
    }
    match approve::channel_action(call) {
        ChannelAction::Ask if call.engine().approver.is_some() => ApprovalRoute::Asked,
        ChannelAction::Ask => ApprovalRoute::NoApprover,
        ChannelAction::WaitInInbox => ApprovalRoute::Inbox,
        ChannelAction::DenyWithInboxQuestion => ApprovalRoute::Background,
        ChannelAction::Deny => ApprovalRoute::ExternalCaller,
    }
}
