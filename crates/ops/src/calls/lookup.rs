//! Collects the information about one call from the stores and this process.

use toolcrib_core::store::ApprovalWithDecision;
use toolcrib_core::{
    AcceptedBatch, ApprovalRequest, CallId, Clock as _, Decision, DecisionRecord, StoredCall,
    SystemClock,
};

use super::document::CallDocument;
use super::state::CallState;
use crate::context::{AcceptedCall, StoreContext};
use crate::error::{OpError, Resource};

/// The information about a call of the owner.
#[derive(Debug, Clone)]
pub struct CallLookup {
    /// Its row, after it was received.
    pub stored: Option<StoredCall>,
    /// The newest question about it.
    pub question: Option<ApprovalWithDecision>,
    /// The call in this process, if this process accepted it and it has not ended.
    active: Option<AcceptedCall>,
    /// Its batch, if any process accepted it and it has not started.
    accepted: Option<AcceptedBatch>,
}

impl CallLookup {
    /// Looks up a call.
    ///
    /// # Errors
    /// [`OpError::NotFound`], [`OpError::Store`].
    pub async fn find(ctx: &StoreContext<'_>, call: CallId) -> Result<Self, OpError> {
        let known = Self::find_once(ctx, call).await?;
        if known.is_known() {
            return Ok(known);
        }
        let accepted = ctx.stores.calls.batch_of(call).await?;
        let accepted = accepted.filter(|batch| batch.batch.context.owner == ctx.owner);
        // A call that started after the first lookup, and may have ended since, has its row by now.
        let known = Self { accepted, ..Self::find_once(ctx, call).await? };
        if known.is_known() { Ok(known) } else { Err(OpError::not_found(Resource::Call, call)) }
    }

    async fn find_once(ctx: &StoreContext<'_>, call: CallId) -> Result<Self, OpError> {
        // In this order, a call that ends between the lookups is found as ended.
        let active = ctx.active_calls.find(ctx.owner, call);
        let question = ctx.stores.approvals.for_call(call).await?;
        let question = question.filter(|(waiting, _)| waiting.request.context.owner == ctx.owner);
        let stored = ctx.stores.calls.call(call).await?;
        let stored = stored.filter(|stored| stored.row.facts.context.owner == ctx.owner);
        Ok(Self { stored, question, active, accepted: None })
    }

    fn is_known(&self) -> bool {
        self.stored.is_some()
            || self.question.is_some()
            || self.active.is_some()
            || self.accepted.is_some()
    }

    /// Returns the principal that made the call.
    #[must_use]
    pub fn actor(&self) -> &str {
        let stored = self.stored.iter().map(|stored| &*stored.row.facts.context.device);
        let asked = self.question.iter().map(|(waiting, _)| &*waiting.request.context.device);
        let active = self.active.iter().map(|active| &*active.actor);
        let accepted = self.accepted.iter().map(|batch| &*batch.batch.context.device);
        stored.chain(asked).chain(active).chain(accepted).next().unwrap_or_default()
    }

    /// Returns the tool of a call that has not started, as the caller named it.
    fn asked(&self, call: CallId) -> String {
        let accepted = self.accepted.iter().flat_map(|batch| &batch.batch.calls);
        let accepted = accepted.filter(|one| one.id == call).map(|one| one.name.clone());
        let active = self.active.iter().map(|active| active.tool.clone());
        active.chain(accepted).next().unwrap_or_default()
    }

    /// Returns the call with its state and its result, including payloads.
    #[must_use]
    pub fn document(&self, call: CallId) -> CallDocument {
        match self {
            Self { stored: Some(StoredCall { outcome: Some(outcome), .. }), .. } => {
                outcome.clone().into()
            }
            Self { stored: None, question: Some((waiting, decision)), .. } => {
                let document = CallDocument::waiting(&waiting.request);
                match approval_state(&waiting.request, decision.as_ref()) {
                    CallState::Waiting => document,
                    status => CallDocument { status, approval: None, ..document },
                }
            }
            Self { stored: Some(stored), .. } => {
                let document = CallDocument::from_row(&stored.row);
                let left_behind = stored.row.end.is_none() && !stored.is_owner_alive;
                if left_behind && !stored.row.facts.effect.is_some_and(|e| e.is_repeatable()) {
                    return CallDocument { status: CallState::Unknown, ..document };
                }
                document
            }
            Self { stored: None, question: None, .. } => {
                CallDocument::with_status_only(call, self.asked(call), CallState::Running)
            }
        }
    }
}

/// Returns the state of a call that has a question and no row yet. An approved call counts as
/// running.
fn approval_state(request: &ApprovalRequest, decision: Option<&DecisionRecord>) -> CallState {
    match decision {
        None if request.is_expired(SystemClock.now_ms()) => CallState::Expired,
        None => CallState::Waiting,
        Some(record) if record.is_expiry() => CallState::Expired,
        Some(record) => match record.decision {
            Decision::Deny { .. } | Decision::Skip => CallState::Denied,
            Decision::Approve { .. } | Decision::Edit { .. } | Decision::Answer { .. } => {
                CallState::Running
            }
        },
    }
}
