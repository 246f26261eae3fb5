//! Deciding: checked against the version that was shown, stored first, and then the process that
//! holds the call continues it.

use std::collections::BTreeMap;

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::core::invoker::DecideError;
use toolcrib_app::core::{ApprovalRequest, Decision, DecisionRecord, GrantScope, SystemClock};
use toolcrib_app::{Decisions, SecretAccess};
use toolcrib_ops::approvals::DecisionReply;

use super::{decision, find_approval, nonce};
use crate::api::{Json, Path};
use crate::problem::{Code, Problem};
use crate::role::Principal;
use crate::run_supervisor::{self, ResumeTarget};
use crate::state::DaemonState;

/// What is decided.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct DecideBody {
    /// What: `approve` and `edit` let a call run, `deny` and `skip` do not, `answer` and `skip` are
    /// for questions of a model.
    decision: Kind,
    /// The `nonce` of the question as it was seen.
    nonce: String,
    /// Of `approve`: for how long it is remembered: `once` (the default), `run`, `conversation` or
    /// `always`.
    #[serde(default)]
    scope: Option<GrantScopeName>,
    /// Of `approve` that is remembered: what arguments must look like for it to count, by name, a
    /// glob for each.
    #[serde(default)]
    only: BTreeMap<String, String>,
    /// Of `approve` that is remembered: whether it counts for what a run has read, too.
    #[serde(default)]
    taint: bool,
    /// Of `deny`: words for the model.
    #[serde(default)]
    note: Option<String>,
    /// Of `edit`: the arguments to run with. `***` stays what it stands for, if the principal may
    /// read secrets (an owner without a limit to tools) or changes nothing else.
    #[serde(default)]
    args: Option<Value>,
    /// Of `answer`: one of the options, or other words.
    #[serde(default)]
    text: Option<String>,
}

/// What can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// Run it.
    Approve,
    /// Do not run it.
    Deny,
    /// Run it with these arguments.
    Edit,
    /// Do not run it, and let the run go on.
    Skip,
    /// The answer to a question.
    Answer,
}

impl Kind {
    /// Whether a call runs by this decision.
    fn may_run(self) -> bool {
        matches!(self, Self::Approve | Self::Edit)
    }
}

/// For how long an approval is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GrantScopeName {
    /// For this call.
    Once,
    /// For the rest of the run.
    Run,
    /// For the rest of the conversation.
    Conversation,
    /// From now on.
    Always,
}

impl GrantScopeName {
    fn of_grant(self) -> GrantScope {
        match self {
            Self::Once => GrantScope::Once,
            Self::Run => GrantScope::Run,
            Self::Conversation => GrantScope::Conversation,
            Self::Always => GrantScope::Always,
        }
    }
}

impl DecideBody {
    /// The decision; what does not belong to it is not ignored.
    fn decision(&self) -> Result<Decision, Problem> {
        let given = [
            ("scope", self.scope.is_some(), Kind::Approve),
            ("only", !self.only.is_empty(), Kind::Approve),
            ("taint", self.taint, Kind::Approve),
            ("note", self.note.is_some(), Kind::Deny),
            ("args", self.args.is_some(), Kind::Edit),
            ("text", self.text.is_some(), Kind::Answer),
        ];
        let word = |kind: Kind| json!(kind).as_str().unwrap_or_default().to_owned();
        if let Some((name, _, of)) = given.iter().find(|(_, is, of)| *is && *of != self.decision) {
            let (of, mine) = (word(*of), word(self.decision));
            return Err(Problem::invalid(format!("{name} belongs to {of}, not to {mine}")));
        }
        let missing =
            |name: &str| Problem::invalid(format!("{} needs {name}", word(self.decision)));
        Ok(match self.decision {
            Kind::Approve => Decision::Approve {
                scope: self.scope.unwrap_or(GrantScopeName::Once).of_grant(),
                only: self.only.clone(),
                taint: self.taint,
            },
            Kind::Deny => Decision::Deny { note: self.note.clone() },
            Kind::Edit => {
                Decision::Edit { args: self.args.clone().ok_or_else(|| missing("args"))? }
            }
            Kind::Skip => Decision::Skip,
            Kind::Answer => {
                Decision::Answer { text: self.text.clone().ok_or_else(|| missing("text"))? }
            }
        })
    }
}

pub(super) async fn decide(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
    Json(wanted): Json<DecideBody>,
) -> Result<Json<DecisionReply>, Problem> {
    let (waiting, first) = find_approval(&daemon, &principal, &id).await?;
    let request = &waiting.request;
    if let Some(first) = first {
        return Err(earlier_decision_problem(&principal, request, &first));
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
    // What goes on alone is on the list of what must be done before it is decided: a crash in
    // between loses nothing.
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
    let decided = decisions(&daemon, &principal).record(request.id, record).await;
    let (is_second, is_refused) = match &decided {
        Err(DecideError::AlreadyDecided(_)) => (true, false),
        Err(DecideError::KeepsMask) => (false, true),
        _ => (false, false),
    };
    if let Some(promised) = promised.as_ref().filter(|_| is_second || is_refused) {
        // The process of the first decision goes on with it, or the question still waits.
        let _ = daemon.stores().calls.finish_batch(promised.batch.id).await;
    } else if !is_refused {
        let goes_on = next.continued_by();
        run_supervisor::resume(daemon.run_supervisor(), next, promised).await;
        daemon.run_supervisor().wake();
        if let Ok(record) = &decided {
            return Ok(Json(DecisionReply {
                approval: request.id.to_string(),
                decision: decision(&principal, record),
                call: request.call.to_string(),
                goes_on,
                run: request.run.map(|run| run.to_string()),
            }));
        }
    }
    match decided {
        Err(DecideError::AlreadyDecided(first)) => {
            Err(earlier_decision_problem(&principal, request, &first))
        }
        Err(error) => Err(refused(request, error)),
        Ok(_) => Err(Problem::new(Code::Internal, "the decision was stored and not answered")),
    }
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

/// Whether this principal may decide about this with that.
fn check(
    daemon: &DaemonState,
    principal: &Principal,
    request: &ApprovalRequest,
    wanted: &DecideBody,
) -> Result<(), Problem> {
    if wanted.nonce != nonce(request) {
        return Err(Problem::conflict(
            "the nonce is not that of this question: what was seen is not what waits here; read it again",
        ));
    }
    if daemon.settings().four_eyes && principal.is_same_person(&request.context.device) {
        return Err(Problem::new(
            Code::Forbidden,
            "this call was asked for by the same person, and four_eyes is set: another person has to decide, with a token of their own",
        ));
    }
    if !wanted.decision()?.matches_kind(request) {
        return Err(Problem::invalid(match request.question {
            Some(_) => "this is a question of the model: answer or skip it",
            None => "this is a call: approve, edit, deny or skip it",
        }));
    }
    Ok(())
}

/// The first decision stands.
fn earlier_decision_problem(
    principal: &Principal,
    request: &ApprovalRequest,
    first: &DecisionRecord,
) -> Problem {
    if first.is_expiry() {
        return expired_problem(request);
    }
    let words = format!("it was decided before, by {}", first.decided_by);
    Problem::conflict(words).with_extra(decision(principal, first))
}

fn expired_problem(request: &ApprovalRequest) -> Problem {
    let words = format!("nobody decided about {} in time; it was not run", request.id);
    Problem::new(Code::Gone, words)
}

fn refused(request: &ApprovalRequest, error: DecideError) -> Problem {
    match error {
        DecideError::Expired => expired_problem(request),
        DecideError::NotFound => Problem::not_found(format!("there is no approval {}", request.id)),
        DecideError::WrongKind => Problem::invalid(error.to_string()),
        DecideError::KeepsMask => Problem::new(Code::Forbidden, error.to_string()),
        DecideError::Undecided
        | DecideError::AlreadyDecided(_)
        | DecideError::OtherEnvironment(_) => Problem::conflict(error.to_string()),
        DecideError::Store(_) => {
            tracing::error!(%error, "a decision could not be stored");
            Problem::new(
                Code::Unavailable,
                "the decision could not be stored, so it does not count",
            )
            .retry_after(1)
        }
    }
}
