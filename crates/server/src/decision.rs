//! Deciding: checks the decision against the version that the person saw, stores it, and lets the
//! process that holds the call continue. Every surface of the daemon decides here.

use toolcrib_app::{Decisions, SecretAccess};
use toolcrib_core::invoker::DecideError;
use toolcrib_core::store::ApprovalWithDecision;
use toolcrib_core::{ApprovalRequest, DecisionRecord, SystemClock};
use toolcrib_ops::approvals::{
    CheckDecisionRequest, DecideBody, DecisionReply, check_decision, decided_before, not_decided,
};
use toolcrib_ops::person::Person;

use crate::problem::{Code, Problem};
use crate::run_supervisor::{self, ResumeTarget, RunSupervisor};

/// The person who decides.
pub(crate) struct Decider<'a> {
    /// The name in records.
    pub(crate) name: &'a str,
    /// Whether the person sees arguments and results.
    pub(crate) sees_payloads: bool,
    /// Whether the person may read the secrets of this daemon.
    pub(crate) may_read_secrets: bool,
    /// Whether the requesting person may not decide (`server.four_eyes`).
    pub(crate) four_eyes: bool,
}

/// Decides a question, once.
pub(crate) async fn decide_question(
    supervisor: &RunSupervisor,
    decider: &Decider<'_>,
    (waiting, first): ApprovalWithDecision,
    wanted: &DecideBody,
) -> Result<DecisionReply, Problem> {
    let request = &waiting.request;
    if let Some(first) = first {
        return Err(decided_before(request, &first, decider.sees_payloads).into());
    }
    check(decider, request, wanted)?;
    let next = run_supervisor::resume_target(supervisor, &waiting).await?;
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
        ResumeTarget::Call => Some(run_supervisor::store_promise(supervisor, &waiting).await?),
        _ => None,
    };
    let record = DecisionRecord {
        decision: wanted.decision()?,
        decided_by: decider.name.to_owned(),
        decided_at: 0,
    };
    let decisions = decisions(supervisor, decider);
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
        let _ = supervisor.stores().calls.finish_batch(promised.batch.id).await;
    } else if !is_refused {
        let goes_on = next.continued_by();
        let is_taken = run_supervisor::resume(supervisor, next, promised).await;
        supervisor.wake();
        if let Ok(record) = &decided {
            if !is_taken {
                supervisor.stores().approvals.sync().await?;
            }
            return Ok(DecisionReply::new(request, record, goes_on, decider.sees_payloads));
        }
    }
    match decided {
        Err(error) => Err(refused(decider, request, error)),
        Ok(_) => Err(Problem::new(Code::Internal, "the decision was stored and not answered")),
    }
}

fn refused(decider: &Decider<'_>, request: &ApprovalRequest, error: DecideError) -> Problem {
    let is_store = matches!(error, DecideError::Store(_));
    let problem = Problem::from(not_decided(request, error, decider.sees_payloads));
    if is_store { problem.retry_after(1) } else { problem }
}

/// Returns where decisions are stored.
fn decisions<'a>(supervisor: &'a RunSupervisor, decider: &Decider<'_>) -> Decisions<'a> {
    let stores = supervisor.stores();
    let secret_access = match decider.may_read_secrets {
        true => SecretAccess::MayRead,
        false => SecretAccess::MayNotRead,
    };
    Decisions {
        approvals: &*stores.approvals,
        grants: &*stores.grants,
        clock: &SystemClock,
        sealing: supervisor.toolcrib().engine().sealing(),
        secret_access,
    }
}

/// Checks that this person may make this decision about the question.
fn check(
    decider: &Decider<'_>,
    request: &ApprovalRequest,
    wanted: &DecideBody,
) -> Result<(), Problem> {
    Ok(check_decision(CheckDecisionRequest {
        question: request,
        decision: &wanted.decision()?,
        seen: Some(&wanted.nonce),
        person: Person::of_record(decider.name),
        four_eyes: decider.four_eyes,
    })?)
}
