//! Previews the grant that an approval would create, before it is given.

use toolcrib_app::grant_from_decision;
use toolcrib_core::{
    ApprovalRequest, Clock as _, Decision, DecisionRecord, Grant, GrantScope, ReasonKind,
    SystemClock,
};

use super::past_calls::{PastCalls, past_calls};
use crate::context::StoreContext;
use crate::error::OpError;

/// An approval to remember.
#[derive(Debug, Clone, Copy)]
pub struct PreviewGrantRequest<'a> {
    /// The question.
    pub question: &'a ApprovalRequest,
    /// The approval.
    pub decision: &'a Decision,
}

/// The result of an approval.
#[derive(Debug)]
pub struct GrantPreview {
    /// The grant.
    pub grant: Grant,
    /// The past calls that it would have matched. The history may be unreadable while the approval
    /// can be given.
    pub past_calls: Result<PastCalls, OpError>,
    /// Whether the taint of the run is a reason for asking that the grant does not cover: in such a
    /// run, the question is asked again.
    pub leaves_taint: bool,
}

/// The reason why an approval creates no grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoGrant {
    /// The call always asks.
    AlwaysAsks,
    /// The call asks only because of the taint of its run, and the approval does not include that.
    OnlyTaint,
}

/// The reason why an approval cannot be remembered. The variants contain the details that surfaces
/// need for a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PreviewError {
    /// No grant covers the question.
    #[error("no remembered approval answers this question")]
    NoGrant(NoGrant),
    /// The patterns of the approval do not match the call in question.
    #[error("the patterns do not match this call")]
    OtherCall,
    /// The scope refers to a run or a conversation that the call does not have.
    #[error("the call belongs to no {0}")]
    NoSuchScope(&'static str),
}

/// Returns the grant that an approval would create, with the past calls that it would have matched.
///
/// # Errors
/// [`PreviewError`].
pub async fn preview(
    ctx: &StoreContext<'_>,
    request: PreviewGrantRequest<'_>,
) -> Result<GrantPreview, PreviewError> {
    let PreviewGrantRequest { question, decision } = request;
    check_scope(question, decision)?;
    let record = DecisionRecord {
        decision: decision.clone(),
        decided_by: ctx.actor.to_owned(),
        decided_at: SystemClock.now_ms(),
    };
    let grant = grant_from_decision(question, &record)
        .ok_or_else(|| PreviewError::NoGrant(no_grant(question)))?;
    if !grant.matches_args(&question.args) {
        return Err(PreviewError::OtherCall);
    }
    let is_tainted = question.reasons.iter().any(|reason| reason.kind == ReasonKind::Taint);
    let leaves_taint = is_tainted && !grant.reasons.contains(&ReasonKind::Taint);
    Ok(GrantPreview { past_calls: past_calls(ctx, &grant).await, grant, leaves_taint })
}

fn check_scope(question: &ApprovalRequest, decision: &Decision) -> Result<(), PreviewError> {
    match decision {
        Decision::Approve { scope: GrantScope::Run, .. } if question.run.is_none() => {
            Err(PreviewError::NoSuchScope("run"))
        }
        Decision::Approve { scope: GrantScope::Conversation, .. }
            if question.context.conversation.is_empty() =>
        {
            Err(PreviewError::NoSuchScope("conversation"))
        }
        _ => Ok(()),
    }
}

fn no_grant(question: &ApprovalRequest) -> NoGrant {
    match question.reasons.iter().any(|reason| reason.kind.always_asks()) {
        true => NoGrant::AlwaysAsks,
        false => NoGrant::OnlyTaint,
    }
}
