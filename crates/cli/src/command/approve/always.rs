//! `toolcrib approve always`: previews the matching calls, then approves.

use serde_json::Value;
use toolcrib_app::Stores;
use toolcrib_core::{ApprovalRequest, Clock as _, Decision, SystemClock};
use toolcrib_ops::OpError;
use toolcrib_ops::grants::{self, GrantPreview, PreviewGrantRequest};

use super::super::grant_preview;
use super::decide;
use super::question::{find_question, wrong_kind_failure};
use crate::clap_args::ApproveAlwaysArgs;
use crate::output::{self, Failure};
use crate::{json_document, op_context};

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
    let preview = preview.map_err(|error| preview_failure(request, &error))?;
    if command.dry_run && json {
        output::print_json(&to_json(&preview)?, true)?;
        return Ok(0);
    }
    let GrantPreview { grant, past_calls, leaves_taint } = preview;
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

/// The preview for machines, with members that only this command has.
fn to_json(preview: &GrantPreview) -> Result<Value, Failure> {
    let document = preview.document()?;
    let past = preview.past_calls.as_ref().ok();
    Ok(json_document::with_members(&document, grant_preview::grant_json(&preview.grant, past)))
}

/// Why nothing is decided, and what can be decided.
fn preview_failure(request: &ApprovalRequest, error: &OpError) -> Failure {
    let id = request.id;
    Failure::usage(match error {
        OpError::Conflict(_) => {
            format!("{error}; `toolcrib approve yes {id}` lets the call run this once")
        }
        _ => format!("{error}; nothing was decided"),
    })
}
