//! Predicts the outcome of a call: it passes the stages up to policy, and nothing runs.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_app::{ApprovalRoute, DryRunReport};
use toolcrib_core::{
    ApprovalReason, Batch, Effect, ErrorType, Labels, Obstacle, OutcomeKind, Reach, Risk, Ruling,
    StageRecord, ToolName,
};

use crate::advice::{error_advice, ruling_advice};
use crate::context::OpContext;
use crate::error::OpError;

/// A hypothetical call.
#[derive(Debug)]
pub struct DryRunRequest {
    /// A batch with this one call, in the view and with the permissions of the caller.
    pub batch: Batch,
}

/// The predicted outcome of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DryRunReply {
    /// The predicted end.
    pub would: Prediction,
    /// The tool, as the caller named it.
    pub asked: String,
    /// The tool, by its canonical name; `None` if it does not exist.
    pub tool: Option<ToolName>,
    /// The operation that policy names.
    pub operation: Option<String>,
    /// The arguments of the run, with secrets masked; null if they cannot be parsed.
    pub args: Value,
    /// Assessed risk.
    pub risk: Option<Risk>,
    /// Assessed effect.
    pub effect: Option<Effect>,
    /// Assessed reach.
    pub reach: Option<Reach>,
    /// The decision of policy, with the rule.
    pub ruling: Option<Ruling>,
    /// Current taint labels of the caller's run.
    pub labels: Labels,
    /// The reasons for asking a person.
    pub reasons: Vec<ApprovalReason>,
    /// The meaning of asking for this caller, in words; `None` if no person would be asked.
    pub asking: Option<String>,
    /// The reason why it would not run.
    pub refused: Option<Refusal>,
    /// The stages that it passed.
    pub stages: Vec<StageRecord>,
}

/// The predicted end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prediction {
    /// The call runs.
    Run,
    /// It waits for a person.
    Ask,
    /// Policy denies it, or no person can be asked.
    Deny,
    /// It fails before policy evaluates it.
    Fail,
}

impl Prediction {
    /// Returns the name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Fail => "fail",
        }
    }

    fn from_report(report: &DryRunReport) -> Self {
        match (&report.refused, report.asking) {
            (Some(error), _) if error.error_type.outcome() == OutcomeKind::Denied => Self::Deny,
            (Some(_), _) => Self::Fail,
            (None, None | Some(ApprovalRoute::Granted)) => Self::Run,
            (None, Some(ApprovalRoute::Asked | ApprovalRoute::Inbox)) => Self::Ask,
            (
                None,
                Some(
                    ApprovalRoute::NoApprover
                    | ApprovalRoute::Background
                    | ApprovalRoute::ExternalCaller,
                ),
            ) => Self::Deny,
        }
    }
}

/// The reason why a call would not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The type of the error.
    pub error_type: ErrorType,
    /// The text for the model.
    pub message: String,
    /// The text without its instructions to the model; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_people: Option<String>,
    /// The obstacle that the owner can remove.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Box<Obstacle>>,
}

/// Predicts the end of a call. Nothing runs, no person is asked, and nothing is recorded.
///
/// # Errors
/// [`OpError::Invalid`] for a batch that does not contain exactly one call.
pub async fn dry_run(ctx: &OpContext<'_>, request: DryRunRequest) -> Result<DryRunReply, OpError> {
    let mut reports = ctx.toolcrib.engine().dry_run(request.batch).await;
    match (reports.pop(), reports.is_empty()) {
        (Some(report), true) => Ok(report.into()),
        _ => Err(OpError::Invalid("a dry run takes one call".to_owned())),
    }
}

impl DryRunReply {
    /// Returns advice for the owner on the call; `None` if it runs, or there is no advice.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let tool = self.tool.as_ref().map_or(self.asked.as_str(), |tool| tool.as_str());
        let operation = self.operation.as_deref().unwrap_or(tool);
        match (&self.ruling, &self.refused) {
            (Some(said), _) => ruling_advice(said, tool, operation),
            (None, Some(error)) => error_advice(error.error_type, error.obstacle.as_deref(), tool),
            (None, None) => None,
        }
    }
}

impl From<DryRunReport> for DryRunReply {
    fn from(dry_run: DryRunReport) -> Self {
        let would = Prediction::from_report(&dry_run);
        let report = dry_run.report;
        Self {
            would,
            asked: dry_run.asked,
            tool: dry_run.tool,
            operation: report.operation,
            args: dry_run.args,
            risk: report.risk,
            effect: report.effect,
            reach: report.reach,
            ruling: report.ruling,
            labels: report.labels,
            reasons: dry_run.asks,
            asking: dry_run.asking.map(|route| route.as_str().to_owned()),
            refused: dry_run.refused.map(|error| Refusal {
                error_type: error.error_type,
                message: error.message,
                for_people: error.for_people,
                obstacle: error.obstacle,
            }),
            stages: report.stages,
        }
    }
}
