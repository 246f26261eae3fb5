//! Decides through the daemon, if the daemon continues the call or the run afterwards.

use std::time::Duration;

use serde::Deserialize as _;
use toolcrib_core::Decision;
use toolcrib_core::store::PendingApproval;
use toolcrib_ops::approvals::{ApprovalDetails, ContinuedBy, DecideBody, DecisionReply, may_run};
use toolcrib_ops::calls::{CallDocument, CallState};
use toolcrib_ops::status::DaemonStatus;

use super::super::tool_call_in_daemon;
use crate::daemon::client::{ApiRequest, Client};
use crate::output::{self, Failure};
use crate::session::RunSetup;

/// Interval for reading the call.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Decides through the daemon of this person, if one runs in the workspace of the question; returns
/// `None` if the question does not belong to it.
///
/// # Errors
/// The error of the daemon, such as for a second or late decision.
pub(super) async fn run(
    waiting: &PendingApproval,
    decision: &Decision,
    json: bool,
) -> Result<Option<u8>, Failure> {
    // A daemon that does not respond is no obstacle: it finds the decision in the store.
    let Ok(Some(client)) = Client::connect_own().await else { return Ok(None) };
    if !shares_workspace(&client, waiting).await? {
        return Ok(None);
    }
    let path = format!("/api/v1/approvals/{}", waiting.request.id);
    let shown = client.send(&ApiRequest::get(&path)).await?;
    if shown.status != 200 {
        return Ok(None);
    }
    let shown: ApprovalDetails = shown.into_reply()?;
    // The daemon has other settings than the process that asked, or lacks the tool.
    if shown.goes_on == ContinuedBy::Elsewhere {
        return Ok(None);
    }
    let body = DecideBody::new(decision.clone(), shown.approval.nonce);
    let reply = client.send(&ApiRequest::post(&path, &body)).await?;
    if reply.status == 409 {
        return Err(Failure { code: 5, ..reply.to_failure() });
    }
    let document = reply.into_result()?;
    let decided = DecisionReply::deserialize(&document)
        .map_err(|error| Failure::run(format!("the daemon's reply cannot be read: {error}")))?;
    if decided.goes_on == ContinuedBy::Call && may_run(decision) {
        return wait_for_call(&client, &waiting.request.call.to_string(), json).await.map(Some);
    }
    let next = match decided.goes_on {
        ContinuedBy::Run => "the daemon resumes its run",
        ContinuedBy::Call => "it was not run",
        ContinuedBy::Elsewhere => "the process that waits for it continues it",
        ContinuedBy::None => "no process waits for it any more",
    };
    if json {
        output::print_json(&document, true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {} is decided; {next}", waiting.request.tool));
    }
    Ok(Some(0))
}

/// Returns whether the daemon's tools see the same workspace as those of this question.
async fn shares_workspace(client: &Client, waiting: &PendingApproval) -> Result<bool, Failure> {
    let Ok(setup) = RunSetup::from_value(&waiting.setup) else { return Ok(false) };
    let status: DaemonStatus = client.call(&ApiRequest::get("/api/v1/status")).await?;
    let theirs = status.workspace.unwrap_or_default();
    Ok(setup.workspace().is_some_and(|own| own.display().to_string() == theirs))
}

/// Waits for the end of a call that the daemon runs.
async fn wait_for_call(client: &Client, id: &str, json: bool) -> Result<u8, Failure> {
    loop {
        let reply = client.send(&ApiRequest::get(&format!("/api/v1/calls/{id}"))).await?;
        let document = reply.json()?;
        match CallDocument::deserialize(&document) {
            Ok(call) if call.status == CallState::Running => {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            Ok(call) => return tool_call_in_daemon::print_call(&call, &document, json),
            Err(_) => return Err(reply.to_failure()),
        }
    }
}
