//! Deciding: checks the decision against the version that the person saw, stores it, and lets the
//! process that holds the call continue.

use axum::extract::State;
use toolcrib_app::{Decisions, SecretAccess};
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{ApprovalRequest, DecisionRecord, SystemClock};
use toolcrib_ops::approvals::{
    CheckDecisionRequest, DecideBody, DecisionReply, check_decision, decided_before, not_decided,
};

use super::find_approval;
use crate::api::{Json, Path};
use crate::problem::{Code, Problem};
use crate::role::{Person, Principal};
use crate::run_supervisor::{self, ResumeTarget};
use crate::state::DaemonState;

pub(super) async fn decide(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    Json(wanted): Json<DecideBody>,
) -> Result<Json<DecisionReply>, Problem> {
    let (waiting, first) = find_approval(&daemon, &principal, &id).await?;
    let request = &waiting.request;
    if let Some(first) = first {
        return Err(decided_before(request, &first, principal.sees_payloads()).into());
    }
    check(&daemon, &principal, request, &wanted)?;
    let next = run_supervisor::resume_target(daemon.run_supervisor(), &waiting).await?;
    if let ResumeTarget::Ended = next {
        return Err(Problem::new(
            Code::Gone,
            "the run of this question is over; nothing waits for a decision",
        ));
    }
    if let ResumeTarget::OtherEnvironment(why) = &next
        && wanted.decision.may_run()
    {
        return Err(Problem::conflict(format!("nothing was decided: {why}")));
    }
    // If the call resumes without a run, store its batch before the decision: a crash in between
    // then loses nothing.
    let promised = match next {
        ResumeTarget::Call => {
            Some(run_supervisor::store_promise(daemon.run_supervisor(), &waiting).await?)
        }
        _ => None,
    };
    let record = DecisionRecord {
        decision: wanted.decision()?,
        decided_by: principal.name.clone(),
        decided_at: 0,
    };
    let decisions = decisions(&daemon, &principal);
    let decided = match &next {
        // Taking the run is a write that survives a power loss, together with the earlier write of
        // the decision.
        ResumeTarget::Run(_) => decisions.record_ahead(request.id, record).await,
        _ => decisions.record(request.id, record).await,
    };
    let (is_second, is_refused) = match &decided {
        Err(DecideError::AlreadyDecided(_)) => (true, false),
        Err(DecideError::KeepsMask) => (false, true),
        _ => (false, false),
    };
    if let Some(promised) = promised.as_ref().filter(|_| is_second || is_refused) {
        // The process of the first decision continues the call, or the question still waits.
        let _ = daemon.stores().calls.finish_batch(promised.batch.id).await;
    } else if !is_refused {
        let goes_on = next.continued_by();
        let is_taken = run_supervisor::resume(daemon.run_supervisor(), next, promised).await;
        daemon.run_supervisor().wake();
        if let Ok(record) = &decided {
            if !is_taken {
                daemon.stores().approvals.sync().await?;
            }
            let sees = principal.sees_payloads();
            return Ok(Json(DecisionReply::new(request, record, goes_on, sees)));
        }
    }
    match decided {
        Err(error) => Err(refused(&principal, request, error)),
        Ok(_) => Err(Problem::new(Code::Internal, "the decision was stored and not answered")),
    }
}

fn refused(principal: &Principal, request: &ApprovalRequest, error: DecideError) -> Problem {
    let is_store = matches!(error, DecideError::Store(_));
    let problem = Problem::from(not_decided(request, error, principal.sees_payloads()));
    if is_store { problem.retry_after(1) } else { problem }
}

/// Where decisions are written down.
fn decisions<'a>(daemon: &'a DaemonState, principal: &Principal) -> Decisions<'a> {
    let stores = daemon.stores();
    let secret_access = match principal.may_read_secrets() {
        true => SecretAccess::MayRead,
        false => SecretAccess::MayNotRead,
    };
    Decisions {
        approvals: &*stores.approvals,
        grants: &*stores.grants,
        clock: &SystemClock,
        sealing: daemon.toolcrib().engine().sealing(),
        secret_access,
    }
}

/// Checks that this principal may make this decision about the question.
fn check(
    daemon: &DaemonState,
    principal: &Principal,
    request: &ApprovalRequest,
    wanted: &DecideBody,
) -> Result<(), Problem> {
    Ok(check_decision(CheckDecisionRequest {
        question: request,
        decision: &wanted.decision()?,
        seen: Some(&wanted.nonce),
        person: Person::of_record(&principal.name),
        four_eyes: daemon.settings().four_eyes,
    })?)
}
