//! One call: where it stands, and its result by its id.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::core::store::Question;
use toolcrib_app::core::{
    AcceptedBatch, ApprovalRequest, CallId, Clock as _, Decision, DecisionRecord, StoreError,
    StoredCall, SystemClock,
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
    /// It was accepted and has not begun, wherever that was.
    accepted: Option<AcceptedBatch>,
}

impl Known {
    /// # Errors
    /// `not_found`.
    pub(super) async fn look_up(
        daemon: &Daemon,
        principal: &Principal,
        call: CallId,
    ) -> Result<Self, Problem> {
        let known = Self::once(daemon, &principal.owner, call).await?;
        if known.is_something() {
            return Ok(known);
        }
        let accepted = daemon.stores().calls.batch_of(call).await?;
        let accepted = accepted.filter(|batch| batch.batch.context.owner == principal.owner);
        // What began a moment ago, and has ended already, is found now.
        let known = Self { accepted, ..Self::once(daemon, &principal.owner, call).await? };
        if known.is_something() {
            return Ok(known);
        }
        Err(Problem::not_found(format!("there is no call {call}")))
    }

    async fn once(daemon: &Daemon, owner: &str, call: CallId) -> Result<Self, StoreError> {
        // In this order: a call that ends in between is found as one that has ended.
        let given = daemon.work().given(call).filter(|given| given.owner == owner);
        let question = daemon.stores().approvals.of_call(call).await?;
        let question = question.filter(|(waiting, _)| waiting.request.context.owner == owner);
        let stored = daemon.stores().calls.call(call).await?;
        let stored = stored.filter(|stored| stored.row.facts.context.owner == owner);
        Ok(Self { stored, question, given, accepted: None })
    }

    fn is_something(&self) -> bool {
        self.stored.is_some()
            || self.question.is_some()
            || self.given.is_some()
            || self.accepted.is_some()
    }

    /// Who asked for it.
    pub(super) fn by(&self) -> &str {
        let stored = self.stored.iter().map(|stored| &*stored.row.facts.context.device);
        let asked = self.question.iter().map(|(waiting, _)| &*waiting.request.context.device);
        let given = self.given.iter().map(|given| &*given.by);
        let accepted = self.accepted.iter().map(|batch| &*batch.batch.context.device);
        stored.chain(asked).chain(given).chain(accepted).next().unwrap_or_default()
    }

    /// The tool of a call that has not begun, as it was asked for.
    fn asked(&self, call: CallId) -> String {
        let accepted = self.accepted.iter().flat_map(|batch| &batch.batch.calls);
        let accepted = accepted.filter(|one| one.id == call).map(|one| one.name.clone());
        let given = self.given.iter().map(|given| given.tool.clone());
        given.chain(accepted).next().unwrap_or_default()
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
            Self { stored: None, question: None, .. } => {
                CallDocument::bare(call, self.asked(call), CallState::Running)
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
