//! `toolcrib approve always`: previews the matching calls, then approves.

use toolcrib_app::Stores;
use toolcrib_core::{ApprovalRequest, Clock as _, Decision, SystemClock};
use toolcrib_ops::grants::{self, GrantPreview, NoGrant, PreviewError, PreviewGrantRequest};

use super::super::grant_preview;
use super::decide;
use super::question::{find_question, wrong_kind_failure};
use crate::clap_args::ApproveAlwaysArgs;
use crate::op_context;
use crate::output::{self, Failure};

pub(super) async fn run(
    stores: &Stores,
    command: &ApproveAlwaysArgs,
    json: bool,
) -> Result<u8, Failure> {
    let question = find_question(stores, &command.approval.id).await?;
    let (waiting, decided) = &question;
    let request = &waiting.request;
    if request.question.is_some() {
        return Err(wrong_kind_failure(request));
    }
    let only = command.only.iter().cloned().collect();
    let decision = Decision::Approve { scope: command.scope.into(), only, taint: command.taint };
    if decided.is_some() && !command.dry_run {
        return decide::apply(stores, question, decision, command.approval.resume, json).await;
    }
    let preview_request = PreviewGrantRequest { question: request, decision: &decision };
    let preview = grants::preview(&op_context::for_stores(stores), preview_request).await;
    let preview = preview.map_err(|error| preview_failure(request, error))?;
    let GrantPreview { grant, past_calls, leaves_taint } = preview;
    if command.dry_run && json {
        output::print_json(&grant_preview::grant_json(&grant, Some(&past_calls?)), true)?;
        return Ok(0);
    }
    let mut lines = vec![format!("this will match {}", grant_preview::grant_text(&grant))];
    match past_calls {
        Ok(matched) => lines.extend(grant_preview::match_lines(&matched, SystemClock.now_ms())),
        // The approval can be given without the preview.
        Err(failure) => lines.push(format!("past calls cannot be looked up: {failure}")),
    }
    if leaves_taint {
        let text = "it does not answer for what a run has read: in such a run it is asked again (--taint includes that)";
        lines.push(text.to_owned());
    }
    if command.dry_run {
        output::print_line(&lines.join("\n"))?;
        return Ok(0);
    }
    lines.iter().for_each(|line| output::warn(line, json));
    decide::apply(stores, question, decision, command.approval.resume, json).await
}

/// Explains why nothing is decided, and which decisions are possible.
fn preview_failure(request: &ApprovalRequest, error: PreviewError) -> Failure {
    let why = match error {
        PreviewError::NoGrant(NoGrant::AlwaysAsks) => {
            "it is a call that always asks, and no remembered approval answers that"
        }
        PreviewError::NoGrant(NoGrant::OnlyTaint) => {
            "it is asked only because of what its run has read, and a remembered approval answers that only with --taint"
        }
        PreviewError::OtherCall => {
            return Failure::usage(format!(
                "this very call does not look like that ({}); nothing was decided",
                crate::terminal::escape_to_line(&request.args.to_string())
            ));
        }
        PreviewError::NoSuchScope(what) => {
            return Failure::usage(format!(
                "the call belongs to no {what}; choose another --scope"
            ));
        }
    };
    let id = request.id;
    Failure::usage(format!("{why}; `toolcrib approve yes {id}` lets the call run this once"))
}
