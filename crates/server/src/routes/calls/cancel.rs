//! Cancels a call.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use toolcrib_core::invoker::DecideError;
use toolcrib_core::{
    ApprovalRequest, CallId, Clock as _, Decision, DecisionRecord, Invoker as _, RunId, RunStatus,
    SystemClock, WorkerState,
};
use toolcrib_ops::Resource;
use toolcrib_ops::calls::{CallDocument, CallLookup, CallState};

use crate::api::{Json, Path, parse_id};
use crate::problem::{Code, Problem};
use crate::role::Principal;
use crate::state::DaemonState;

pub(super) async fn cancel(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(call): Path<String>,
) -> Result<Response, Problem> {
    let call: CallId = parse_id(Resource::Call, &call)?;
    let engine = daemon.toolcrib().engine();
    let ctx = daemon.store_context(&principal);
    let known = CallLookup::find(&ctx, call).await?;
    principal.require_unrestricted_or_own(known.actor())?;
    let document = known.document(call);
    let ended = !matches!(document.status, CallState::Running | CallState::Waiting);
    if !ended && engine.cancel_call(call) {
        let document = CallDocument { status: CallState::Running, ..document };
        return Ok((StatusCode::ACCEPTED, Json(document)).into_response());
    }
    if let CallLookup { stored: None, question: Some((waiting, None)), .. } = &known {
        return take_back(&daemon, &principal, &waiting.request).await;
    }
    // The call may have ended since the lookup.
    let known = CallLookup::find(&ctx, call).await?;
    Err(cannot(&daemon, call, &known).await)
}

/// Returns the run that continues the call after the decision. A batch of `POST /exec` has a
/// separate run, which is not stored.
async fn open_run(
    daemon: &DaemonState,
    request: &ApprovalRequest,
) -> Result<Option<RunId>, Problem> {
    let Some(id) = request.run else { return Ok(None) };
    let run = daemon.stores().runs.run(id).await?;
    Ok(run.filter(|run| run.status != RunStatus::Ended).map(|run| run.id))
}

/// Withdraws the question of a call, because no decision is needed any more.
async fn take_back(
    daemon: &DaemonState,
    principal: &Principal,
    request: &ApprovalRequest,
) -> Result<Response, Problem> {
    if let Some(run) = open_run(daemon, request).await? {
        let words = format!(
            "it is a call of run {run}, which waits for it: stop the run, or decide about the call"
        );
        return Err(Problem::conflict(words));
    }
    let record = DecisionRecord {
        decision: Decision::Deny { note: Some("The caller cancelled the call.".to_owned()) },
        decided_by: principal.name.clone(),
        decided_at: SystemClock.now_ms(),
    };
    match daemon.toolcrib().engine().decide(request.id, record).await {
        Ok(Some(answer)) => Ok(Json(CallDocument::from(answer)).into_response()),
        Ok(None) | Err(DecideError::AlreadyDecided(_)) => {
            let document = CallDocument::waiting(request);
            let document = CallDocument { status: CallState::Running, approval: None, ..document };
            Ok((StatusCode::ACCEPTED, Json(document)).into_response())
        }
        Err(DecideError::Expired) => {
            Err(Problem::new(Code::Gone, "it was not decided in time, so it does not run"))
        }
        Err(error) => Err(Problem::new(Code::Unavailable, error.to_string()).retry_after(1)),
    }
}

/// Explains why this daemon cannot cancel the call.
async fn cannot(daemon: &DaemonState, call: CallId, known: &CallLookup) -> Problem {
    let document = known.document(call);
    let about = serde_json::json!({"call": call, "status": document.status});
    let words = match (&known.stored, document.status) {
        (Some(stored), CallState::Running) => {
            match daemon.stores().calls.worker(stored.row.epoch).await {
                Ok(WorkerState::Alive(who)) => {
                    format!("{who} runs it, and not this daemon: stop it there")
                }
                _ => "the process that ran it has ended; it is not running".to_owned(),
            }
        }
        (_, CallState::Running) => "another daemon continues it: stop it there".to_owned(),
        _ => "it has ended".to_owned(),
    };
    Problem::conflict(words).with_extra(about)
}
