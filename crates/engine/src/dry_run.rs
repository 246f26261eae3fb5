//! Dry runs: the call passes the same stages up to policy. The engine does not record it, ask a
//! person, charge a budget or notify observers.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::{ApprovalReason, Batch, Report, ToolError, ToolName};

use crate::batch_scope::{BatchScope, ScopeOptions, ScopeOwner};
use crate::call_state::CallState;
use crate::engine_inner::EngineInner;
use crate::pipeline;
use crate::rules::RuleSet;
use crate::stage::approve::{self, ChannelAction};
use crate::stage::step::StageExit;

/// The result of a dry run.
#[derive(Debug, Clone, PartialEq)]
pub struct DryRunReport {
    /// The requested name.
    pub asked: String,
    /// The tool, if there is one.
    pub tool: Option<ToolName>,
    /// The arguments that the call would run with, secrets masked; null if they could not be
    /// decoded.
    pub args: Value,
    /// The stages that the call passed, with operation, risk, effect, reach and the ruling of
    /// policy.
    pub report: Report,
    /// Why it would not run.
    pub refused: Option<ToolError>,
    /// Why a person would be asked.
    pub asks: Vec<ApprovalReason>,
    /// How the question would be handled; `None` if no question would be asked.
    pub asking: Option<ApprovalRoute>,
}

/// How a question about a call is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalRoute {
    /// An earlier approval answers it.
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
    /// Describes the route for people.
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

/// Runs a batch as a dry run, with `rules` in place of those in force, if given.
pub(crate) async fn run(
    engine: Arc<EngineInner>,
    batch: Batch,
    rules: Option<RuleSet>,
) -> Vec<DryRunReport> {
    let run = batch.run.and_then(|id| engine.runs.get(id));
    let Batch { origin, context, view, calls, .. } = batch;
    let owner = ScopeOwner { origin, context, view, run };
    let options = ScopeOptions { rules, ..ScopeOptions::default() };
    let scope = BatchScope::new(&engine, owner, calls.len(), options);
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
