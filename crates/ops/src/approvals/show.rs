//! Shows a question with all information for deciding it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::store::{ApprovalWithDecision, PendingApproval};
use toolcrib_core::{ApprovalId, DecisionRecord};

use super::decision_reply::ContinuedBy;
use super::document::Approval;
use super::entry::ApprovalEntry;
use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// Maximum number of earlier decisions in the reply.
const EARLIER_LIMIT: usize = 5;
/// Maximum number of questions that are read to find them, the newest.
const SCAN_LIMIT: usize = 1_000;

/// The question to show.
#[derive(Debug, Clone, Copy)]
pub struct ShowApprovalRequest {
    /// Its id.
    pub id: ApprovalId,
}

/// A question with the earlier decisions about calls of its operation.
#[derive(Debug, Clone)]
pub struct ShowApprovalReply {
    /// The question.
    pub entry: ApprovalEntry,
    /// The stored question, for the surface that continues the call.
    pub waiting: PendingApproval,
    /// Its decision.
    pub decided: Option<DecisionRecord>,
    /// Earlier decisions, the newest first.
    pub earlier: Vec<ApprovalEntry>,
}

/// A question with information for the decision.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalShown")]
pub struct ApprovalDetails {
    /// The question.
    #[serde(flatten)]
    pub approval: Approval,
    /// Hash of the tool's definition.
    pub definition_hash: String,
    /// The component that continues after the decision: `run`, `call`, `elsewhere` (another process
    /// waits) or `none` (its run has ended).
    #[schemars(with = "String")]
    pub goes_on: ContinuedBy,
    /// The sandbox level of the programs that the call starts: `none`, `reduced`, `namespace`,
    /// `external`, or `unavailable` if this machine provides none that is strong enough. Absent =
    /// the call starts no programs here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Earlier decisions about calls of this operation, the newest first.
    pub earlier: Vec<EarlierDecision>,
}

/// An earlier decision.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct EarlierDecision {
    /// Its id.
    pub approval: String,
    /// The arguments.
    pub args: Value,
    /// The decision.
    pub decision: Option<Value>,
}

impl ShowApprovalReply {
    /// Builds the document of the reply, with the component that continues the call and the sandbox
    /// level of the call.
    #[must_use]
    pub fn into_details(self, goes_on: ContinuedBy, sandbox: Option<String>) -> ApprovalDetails {
        let earlier = self.earlier.into_iter().map(|entry| EarlierDecision {
            approval: entry.document.approval,
            args: entry.document.args,
            decision: entry.document.decision,
        });
        ApprovalDetails {
            approval: self.entry.document,
            definition_hash: self.waiting.request.definition_hash,
            goes_on,
            sandbox,
            earlier: earlier.collect(),
        }
    }
}

/// Returns a stored question of this owner and its decision.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn find(ctx: &StoreContext<'_>, id: ApprovalId) -> Result<ApprovalWithDecision, OpError> {
    let found = ctx.stores.approvals.get(id).await?;
    let own = found.filter(|(waiting, _)| waiting.request.context.owner == ctx.owner);
    own.ok_or_else(|| OpError::not_found(Resource::Approval, id))
}

/// Shows a question, and earlier decisions about calls of its operation.
///
/// # Errors
/// The errors of [`find`].
pub async fn show(
    ctx: &StoreContext<'_>,
    request: ShowApprovalRequest,
) -> Result<ShowApprovalReply, OpError> {
    let (waiting, decided) = find(ctx, request.id).await?;
    let asked = &waiting.request;
    let questions = ctx.stores.approvals.list(ctx.owner, SCAN_LIMIT).await?;
    let is_like = |(other, decided): &ApprovalWithDecision| {
        let other = &other.request;
        decided.is_some()
            && other.id != asked.id
            && other.operation == asked.operation
            && other.question.is_some() == asked.question.is_some()
    };
    let earlier = questions.into_iter().filter(is_like).take(EARLIER_LIMIT);
    let earlier =
        earlier.map(|(other, decided)| ApprovalEntry::new(ctx, other.request, decided)).collect();
    let entry = ApprovalEntry::new(ctx, asked.clone(), decided.clone());
    Ok(ShowApprovalReply { entry, waiting, decided, earlier })
}
