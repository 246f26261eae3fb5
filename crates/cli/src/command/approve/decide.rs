//! Decides a question: the decision is stored first, by compare-and-set; then the call continues
//! wherever it waits.

use serde_json::json;
use toolcrib_app::{Decisions, Sealing, SecretAccess, Stores};
use toolcrib_core::invoker::DecideError;
use toolcrib_core::store::{ApprovalWithDecision, PendingApproval};
use toolcrib_core::{
    ApprovalRequest, Clock as _, Decision, DecisionRecord, Effect, OutcomeKind, RunId, SystemClock,
};
use toolcrib_ops::approvals::{
    self, CheckDecisionRequest, Continuation, ContinuedBy, DecisionReply, may_run,
};
use toolcrib_ops::person::Person;
use toolcrib_ops::{OpError, grants};

use super::super::resume;
use super::list::decision_text;
use super::question::{find_question, wrong_kind_failure};
use super::run_locally::DecisionSource;
use super::{decide_in_daemon, resume_target, run_locally};
use crate::clap_args::{ApprovalArgs, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, op_context, os_user, time_format};

/// Decides the named question.
pub(super) async fn run(
    stores: &Stores,
    which: &ApprovalArgs,
    decision: impl FnOnce(&ApprovalWithDecision) -> Result<Decision, Failure>,
    json: bool,
) -> Result<u8, Failure> {
    let question = find_question(stores, &which.id).await?;
    let decision = match &question.1 {
        // A stored decision remains in force, even if this one is invalid.
        Some(_) => decision(&question).unwrap_or(Decision::Skip),
        None => decision(&question)?,
    };
    apply(stores, question, decision, which.resume, json).await
}

pub(super) async fn apply(
    stores: &Stores,
    (waiting, decided): ApprovalWithDecision,
    decision: Decision,
    resume: bool,
    json: bool,
) -> Result<u8, Failure> {
    let request = &waiting.request;
    let place = resume_target::find(stores, &waiting).await?;
    if let Some(first) = decided {
        return handle_already_decided(stores, &waiting, &first, (&decision, place), json).await;
    }
    check(request, &decision)?;
    if matches!(place, Continuation::Call | Continuation::PausedRun(_))
        && let Some(code) = decide_in_daemon::run(&waiting, &decision, json).await?
    {
        return Ok(code);
    }
    let record = DecisionRecord { decision, decided_by: os_user::current_user(), decided_at: 0 };
    // From here on, the sealed form is shown, which is also the stored one.
    let record = bootstrap::sealing()?.seal_decision(record);
    let record = record.map_err(|error| Failure::usage(error.to_string()))?;
    match place {
        Continuation::RunEnded => Err(deny_for_ended_run(stores, request).await),
        Continuation::Call if request.question.is_none() => {
            let code =
                run_locally::execute(stores, &waiting, DecisionSource::New(record), json).await?;
            warn_if_grant_missing(stores, request, json).await;
            Ok(code)
        }
        Continuation::Call => record_only(stores, &waiting, record, json).await,
        Continuation::Elsewhere(_) | Continuation::PausedRun(_) => {
            let record = record_decision(stores, request, record).await?;
            warn_if_grant_missing(stores, request, json).await;
            report_next_step(stores, &waiting, record, resume, json).await
        }
    }
}

/// Checks that the owner may make this decision here.
fn check(request: &ApprovalRequest, decision: &Decision) -> Result<(), Failure> {
    let config = bootstrap::load_config(&WorkspaceArgs::default())?;
    let checked = approvals::check_decision(CheckDecisionRequest {
        question: request,
        decision,
        seen: None,
        person: Person::Owner,
        four_eyes: config.server.four_eyes.unwrap_or(false),
    });
    checked.map_err(|error| match error {
        OpError::Invalid(_) => wrong_kind_failure(request),
        error => error.into(),
    })
}

/// Reports the result of a stored decision. The worker of the call may have ended or started since
/// the first read, so its current location is read here.
async fn report_next_step(
    stores: &Stores,
    waiting: &PendingApproval,
    record: DecisionRecord,
    resume: bool,
    json: bool,
) -> Result<u8, Failure> {
    let request = &waiting.request;
    let words = decision_text(&record);
    let target = resume_target::find(stores, waiting).await?;
    let goes_on = target.continued_by();
    let next = match target {
        Continuation::Elsewhere(who) => format!("{who} continues it"),
        Continuation::PausedRun(run) if resume => {
            // The events of the run are what is printed.
            output::warn(&format!("{words}; its run goes on now"), json);
            return resume::resume_decided(*run, json).await;
        }
        Continuation::PausedRun(run) => {
            format!("`toolcrib resume {}` resumes its run", run.id)
        }
        Continuation::RunEnded | Continuation::Call
            if CallFate::find(stores, request).await? != CallFate::NotRun =>
        {
            format!("it went on at once; `toolcrib explain {}` says how", request.call)
        }
        Continuation::Call if may_run(&record.decision) => {
            let left = "the process that waited for it has ended, so it is carried out here";
            let notice = format!("{words}; {left}");
            let step = DecisionSource::Stored { first: record, notice };
            return run_locally::execute(stores, waiting, step, json).await;
        }
        Continuation::RunEnded | Continuation::Call => {
            "no process waits for it any more".to_owned()
        }
    };
    print_decision(request, (&record, goes_on), &next, json)?;
    Ok(0)
}

/// Warns if a decision was to be remembered and is not: the grant is stored after the decision,
/// which is valid without it.
async fn warn_if_grant_missing(stores: &Stores, request: &ApprovalRequest, json: bool) {
    let why = match grants::is_remembered(&op_context::for_stores(stores), request.id).await {
        Ok(true) => return,
        Ok(false) => String::new(),
        Err(error) => format!(" ({error})"),
    };
    let what = "it was decided about this call, but it could not be remembered";
    output::warn(&format!("{what}{why}: the next call like it is asked about again"), json);
}

/// Only stores a decision.
pub(super) async fn record_only(
    stores: &Stores,
    waiting: &PendingApproval,
    record: DecisionRecord,
    json: bool,
) -> Result<u8, Failure> {
    let record = record_decision(stores, &waiting.request, record).await?;
    let next = "no process waits for it any more";
    print_decision(&waiting.request, (&record, ContinuedBy::Call), next, json)?;
    Ok(0)
}

async fn record_decision(
    stores: &Stores,
    request: &ApprovalRequest,
    record: DecisionRecord,
) -> Result<DecisionRecord, Failure> {
    let sealing = bootstrap::sealing()?;
    let record = decisions(stores, &sealing).record(request.id, record).await;
    record.map_err(|error| failure(request, error))
}

/// Where decisions are written down.
pub(crate) fn decisions<'a>(stores: &'a Stores, sealing: &'a Sealing) -> Decisions<'a> {
    let (approvals, grants) = (&*stores.approvals, &*stores.grants);
    // The user of this machine has the key of the vault.
    let secret_access = SecretAccess::MayRead;
    Decisions { approvals, grants, clock: &SystemClock, sealing, secret_access }
}

/// Prints the decision, and the component that continues the call.
pub(super) fn print_decision(
    request: &ApprovalRequest,
    (record, goes_on): (&DecisionRecord, ContinuedBy),
    next: &str,
    json: bool,
) -> Result<(), Failure> {
    let words = decision_text(record);
    if json {
        let reply = DecisionReply::new(request, record, goes_on, true);
        let own = json!({"decided": words, "next": next});
        output::print_json(&json_document::with_members(&reply, own), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {} {words}; {next}", request.tool));
    }
    Ok(())
}

/// Handles a second decision: the first one remains in force. If an approved call did not run
/// because its process died, a repeated approval runs it.
async fn handle_already_decided(
    stores: &Stores,
    waiting: &PendingApproval,
    first: &DecisionRecord,
    (again, place): (&Decision, Continuation),
    json: bool,
) -> Result<u8, Failure> {
    let request = &waiting.request;
    let says_so_again = may_run(&first.decision) && *again == Decision::approve();
    let fate = CallFate::find(stores, request).await?;
    if says_so_again && matches!(place, Continuation::Call) && fate == CallFate::NotRun {
        let words = decision_text(first);
        let notice = format!("it was {words} before and has not run; it is carried out now");
        let step = DecisionSource::Stored { first: first.clone(), notice };
        return run_locally::execute(stores, waiting, step, json).await;
    }
    let next = match place {
        Continuation::PausedRun(run) => {
            format!("; `toolcrib resume {}` resumes its run", run.id)
        }
        Continuation::Elsewhere(_) | Continuation::Call | Continuation::RunEnded
            if may_run(&first.decision) =>
        {
            fate.text(request)
        }
        Continuation::Elsewhere(_) | Continuation::Call | Continuation::RunEnded => String::new(),
    };
    Err(already_decided(request, first, &next))
}

/// The state of a call after the decision about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallFate {
    /// The call never started, or it changes nothing and its process has ended, so that it may run
    /// again.
    NotRun,
    /// A live process runs it.
    Running,
    /// Its process ended before it recorded the outcome.
    Lost,
    /// It has an outcome.
    Ended(OutcomeKind),
}

impl CallFate {
    /// Reads the state of a question's call from the store.
    pub(super) async fn find(stores: &Stores, request: &ApprovalRequest) -> Result<Self, Failure> {
        let call = stores.calls.call(request.call).await?;
        let Some(call) = call else { return Ok(Self::NotRun) };
        Ok(match &call.row.end {
            Some(end) => Self::Ended(end.outcome),
            None if call.is_owner_alive => Self::Running,
            None if call.row.facts.effect.is_some_and(Effect::is_repeatable) => Self::NotRun,
            None => Self::Lost,
        })
    }

    /// Describes the state for people, as the end of a sentence.
    pub(super) fn text(self, request: &ApprovalRequest) -> String {
        let call = request.call;
        match self {
            Self::NotRun => "; it has not run yet".to_owned(),
            Self::Running => {
                format!("; it is running now, and `toolcrib explain {call}` follows it")
            }
            Self::Lost | Self::Ended(OutcomeKind::Unknown) => format!(
                "; the process that carried it out ended before it recorded an outcome, so it is unknown whether the call took effect: check before you call it again (`toolcrib explain {call}`)"
            ),
            Self::Ended(kind) => format!("; it has run and {kind}, see `toolcrib explain {call}`"),
        }
    }
}

/// Returns the failure of a second decision; `next` ends the sentence.
pub(super) fn already_decided(
    request: &ApprovalRequest,
    first: &DecisionRecord,
    next: &str,
) -> Failure {
    Failure { code: 5, message: format!("{}{next}", already_decided_message(request, first)) }
}

fn already_decided_message(request: &ApprovalRequest, first: &DecisionRecord) -> String {
    let ago = time_format::format_age(first.decided_at, SystemClock.now_ms());
    format!("{} was decided before, {ago} ago: {}", request.id, decision_text(first))
}

/// Denies a question whose run has ended, so that it is no longer shown.
async fn deny_for_ended_run(stores: &Stores, request: &ApprovalRequest) -> Failure {
    let record = DecisionRecord {
        decision: Decision::Deny { note: None },
        decided_by: "the end of its run".to_owned(),
        decided_at: SystemClock.now_ms(),
    };
    let _ = stores.approvals.decide(request.id, record).await;
    let run = request.run.as_ref().map(RunId::to_string).unwrap_or_default();
    Failure {
        code: 5,
        message: format!("the run {run} is over; no process waits for this decision any more"),
    }
}

/// Returns the failure of a decision, with its exit code.
pub(super) fn failure(request: &ApprovalRequest, error: DecideError) -> Failure {
    match error {
        DecideError::AlreadyDecided(first) => already_decided(request, &first, ""),
        DecideError::WrongKind => wrong_kind_failure(request),
        DecideError::OtherEnvironment(_) => Failure::configuration(error.to_string()),
        DecideError::Store(_) => Failure::run(error.to_string()),
        error => approvals::not_decided(request, error, true).into(),
    }
}
