//! Previews the grant that an approval would create, before it is given.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::grant_from_decision;
use toolcrib_core::{
    ApprovalRequest, Clock as _, Decision, DecisionRecord, Grant, GrantScope, ReasonKind,
    SystemClock,
};

use super::past_calls::{PastCalls, SCAN_LIMIT, past_calls};
use crate::calls::{CallSummary, serialized_name};
use crate::context::StoreContext;
use crate::error::OpError;

/// Past calls that a document lists, the newest.
const MAX_LISTED: usize = 20;

/// An approval that is to be remembered.
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

/// What a remembered approval would match.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GrantPreviewDocument {
    /// The operation, exactly.
    pub operation: String,
    /// The highest risk that it answers for.
    pub risk: String,
    /// Reasons of asking that it answers.
    pub reasons: Value,
    /// Whether a run that has read text from outside is asked again all the same.
    pub leaves_taint: bool,
    /// Number of past calls that it would have matched.
    pub matched: usize,
    /// Past calls that were compared at most, the newest.
    pub compared: usize,
    /// Whether there are older ones, which were not compared.
    pub truncated: bool,
    /// The newest 20 that match.
    pub calls: Vec<CallSummary>,
}

impl GrantPreview {
    /// The document of the preview.
    ///
    /// # Errors
    /// [`OpError::Store`] when the history cannot be read.
    pub fn document(&self) -> Result<GrantPreviewDocument, OpError> {
        let past = self.past_calls.as_ref().map_err(Clone::clone)?;
        let listed = past.calls.iter().take(MAX_LISTED);
        Ok(GrantPreviewDocument {
            operation: self.grant.operation.clone(),
            risk: serialized_name(&self.grant.risk).unwrap_or_default(),
            reasons: json!(self.grant.reasons),
            leaves_taint: self.leaves_taint,
            matched: past.calls.len(),
            compared: SCAN_LIMIT,
            truncated: past.truncated,
            calls: listed.map(|row| CallSummary::new(row, None)).collect(),
        })
    }
}

/// Returns the grant that an approval would create, with the past calls that it would have matched.
///
/// # Errors
/// [`OpError::Denied`] for a caller that may not see arguments; [`OpError::Invalid`] for an
/// approval that is not remembered, that does not match the call itself, or whose scope the call
/// has not; [`OpError::Conflict`] for a question that no grant answers.
pub async fn preview(
    ctx: &StoreContext<'_>,
    request: PreviewGrantRequest<'_>,
) -> Result<GrantPreview, OpError> {
    let PreviewGrantRequest { question, decision } = request;
    if !ctx.shows_payloads {
        return Err(OpError::Denied("you may not see arguments".to_owned()));
    }
    check_scope(question, decision)?;
    let record = DecisionRecord {
        decision: decision.clone(),
        decided_by: ctx.actor.to_owned(),
        decided_at: SystemClock.now_ms(),
    };
    let grant = grant_from_decision(question, &record).ok_or_else(|| no_grant(question))?;
    if !grant.matches_args(&question.args) {
        let words = "this call itself does not look like that: loosen the patterns in `only`";
        return Err(OpError::Invalid(words.to_owned()));
    }
    let is_tainted = question.reasons.iter().any(|reason| reason.kind == ReasonKind::Taint);
    let leaves_taint = is_tainted && !grant.reasons.contains(&ReasonKind::Taint);
    Ok(GrantPreview { past_calls: past_calls(ctx, &grant).await, grant, leaves_taint })
}

fn check_scope(question: &ApprovalRequest, decision: &Decision) -> Result<(), OpError> {
    let Decision::Approve { scope, .. } = decision else { return Ok(()) };
    let missing = match scope {
        GrantScope::Once => {
            let words =
                "an approval of scope once is not remembered; say run, conversation or always";
            return Err(OpError::Invalid(words.to_owned()));
        }
        GrantScope::Run => question.run.is_none().then_some("run"),
        GrantScope::Conversation => {
            question.context.conversation.is_empty().then_some("conversation")
        }
        GrantScope::Always => None,
    };
    match missing {
        Some(what) => {
            Err(OpError::Invalid(format!("the call belongs to no {what}; choose another scope")))
        }
        None => Ok(()),
    }
}

/// No grant answers the question.
fn no_grant(question: &ApprovalRequest) -> OpError {
    let always_asks = question.reasons.iter().any(|reason| reason.kind.always_asks());
    let words = match always_asks {
        true => "it is a call that always asks; it can be approved once only",
        false => {
            "it is asked only because of what its run has read; a remembered approval answers that only with --taint (over REST `taint: true`)"
        }
    };
    OpError::Conflict(words.to_owned())
}
