//! One call: where it stands, and its result by its id.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::core::store::Question;
use toolcrib_app::core::{
    ApprovalRequest, CallId, Clock as _, Decision, DecisionRecord, StoredCall, SystemClock,
};

use super::document::{CallDocument, CallState};
use super::start::wait_of;
use crate::api::{Json, Path, Query};
use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::role::Principal;
use crate::work::Given;

/// What is known of a call of this principal's owner. The calls of others do not exist.
pub(super) struct Known {
    pub(super) stored: Option<StoredCall>,
    pub(super) question: Option<Question>,
    /// It was given to this daemon and has not ended.
    pub(super) given: Option<Given>,
}

impl Known {
    /// # Errors
    /// `not_found`.
    pub(super) async fn look_up(
        daemon: &Daemon,
        principal: &Principal,
        call: CallId,
    ) -> Result<Self, Problem> {
        let owner = &principal.owner;
        // In this order: a call that ends in between is found as one that has ended.
        let given = daemon.work().given(call).filter(|given| &given.owner == owner);
        let question = daemon.stores().approvals.of_call(call).await?;
        let question = question.filter(|(waiting, _)| &waiting.request.context.owner == owner);
        let stored = daemon.stores().calls.call(call).await?;
        let stored = stored.filter(|stored| &stored.row.facts.context.owner == owner);
        if stored.is_none() && question.is_none() && given.is_none() {
            return Err(Problem::not_found(format!("there is no call {call}")));
        }
        Ok(Self { stored, question, given })
    }

    pub(super) fn document(&self, call: CallId) -> CallDocument {
        match self {
            Self { stored: Some(StoredCall { outcome: Some(outcome), .. }), .. } => {
                outcome.clone().into()
            }
            Self { stored: None, question: Some((waiting, decision)), .. } => {
                let document = CallDocument::waiting(&waiting.request);
                match standing(&waiting.request, decision.as_ref()) {
                    CallState::Waiting => document,
                    status => CallDocument { status, approval: None, ..document },
                }
            }
            Self { stored: Some(stored), .. } => {
                let document = CallDocument::of_row(&stored.row);
                let left_behind = stored.row.end.is_none() && !stored.is_worked_on;
                if left_behind && !stored.row.facts.effect.is_some_and(|e| e.is_repeatable()) {
                    return CallDocument { status: CallState::Unknown, ..document };
                }
                document
            }
            Self { stored: None, question: None, given } => {
                let asked = given.as_ref().map(|given| given.tool.clone()).unwrap_or_default();
                CallDocument::bare(call, asked, CallState::Running)
            }
        }
    }
}

/// Where a call stands that was asked about and has no outcome yet. One that a person lets run is at work again.
fn standing(request: &ApprovalRequest, decision: Option<&DecisionRecord>) -> CallState {
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

/// How long its end is waited for.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LookQuery {
    /// Milliseconds to wait while this daemon has it at work, at most 600,000; 0 when nobody says.
    #[schemars(range(max = 600_000))]
    wait_ms: Option<u64>,
}

pub(super) async fn look(
    State(daemon): State<Daemon>,
    principal: Principal,
    Path(call): Path<CallId>,
    Query(query): Query<LookQuery>,
) -> Result<Json<CallDocument>, Problem> {
    let wait = wait_of(query.wait_ms)?;
    let mut known = Known::look_up(&daemon, &principal, call).await?;
    if let (Some(wait), Some(given)) = (wait, &known.given) {
        let waited = tokio::time::timeout(wait, given.over.cancelled()).await;
        if waited.is_ok() {
            known = Known::look_up(&daemon, &principal, call).await?;
        }
    }
    let document = known.document(call);
    Ok(Json(if principal.sees_payloads() { document } else { document.without_payloads() }))
}
