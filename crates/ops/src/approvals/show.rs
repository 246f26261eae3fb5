//! Shows a question with what helps to decide.

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

/// Earlier decisions that are shown.
const EARLIER_LIMIT: usize = 5;
/// Questions that are read to find them, the newest.
const SCAN_LIMIT: usize = 1_000;

/// Which question.
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
    /// The newest first.
    pub earlier: Vec<ApprovalEntry>,
}

/// A question with what helps to decide.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalShown")]
pub struct ApprovalDetails {
    /// The question.
    #[serde(flatten)]
    pub approval: Approval,
    /// Hash of the tool's definition.
    pub definition_hash: String,
    /// What continues after the decision: `run`, `call`, `elsewhere` (another process waits) or
    /// `nobody` (its run is over).
    #[schemars(with = "String")]
    pub goes_on: ContinuedBy,
    /// The sandbox level of the programs that the call starts: `none`, `reduced`, `namespace`,
    /// `external`, or `unavailable` if this machine gives none that is strong enough. Absent = it
    /// starts none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// What was decided about calls of this operation before, the newest first.
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
    /// The document of the reply, with what continues after the decision and the sandbox level of
    /// the call.
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

/// A question of this owner and its decision, as they are stored.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn find(ctx: &StoreContext<'_>, id: ApprovalId) -> Result<ApprovalWithDecision, OpError> {
    let found = ctx.stores.approvals.get(id).await?;
    let own = found.filter(|(waiting, _)| waiting.request.context.owner == ctx.owner);
    own.ok_or_else(|| OpError::not_found(Resource::Approval, id))
}

/// Shows a question, and what was decided about calls of its operation before.
///
/// # Errors
/// As [`find`].
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
