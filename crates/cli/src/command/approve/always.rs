//! `toolcrib approve always`: what it will match is said before it is given.

use toolcrib_app::core::{
    ApprovalRequest, Clock as _, Decision, DecisionRecord, Grant, ReasonKind, SystemClock,
};
use toolcrib_app::{Stores, grant_from_decision};
use toolcrib_ops::grants;

use super::super::grant_preview;
use super::decide;
use super::question::{find_question, wrong_kind_failure};
use crate::clap_args::{ApproveAlwaysArgs, GrantScopeArg};
use crate::output::{self, Failure};
use crate::{op_context, os_user};

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
    let grant = grant_to_create(request, &decision, command)?;
    let matched = grants::past_calls(&op_context::for_stores(stores), &grant).await;
    if command.dry_run && json {
        output::print_json(&grant_preview::grant_json(&grant, Some(&matched?)), true)?;
        return Ok(0);
    }
    let mut lines = vec![format!("this will match {}", grant_preview::grant_text(&grant))];
    match matched {
        Ok(matched) => lines.extend(grant_preview::match_lines(&matched, SystemClock.now_ms())),
        // To give it needs no look back.
        Err(failure) => lines.push(format!("past calls cannot be looked up: {failure}")),
    }
    if !command.taint && request.reasons.iter().any(|reason| reason.kind == ReasonKind::Taint) {
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

/// The grant that the decision would give.
fn grant_to_create(
    request: &ApprovalRequest,
    decision: &Decision,
    command: &ApproveAlwaysArgs,
) -> Result<Grant, Failure> {
    let what = match command.scope {
        GrantScopeArg::Run if request.run.is_none() => Some("run"),
        GrantScopeArg::Conversation if request.context.conversation.is_empty() => {
            Some("conversation")
        }
        GrantScopeArg::Run | GrantScopeArg::Conversation | GrantScopeArg::Always => None,
    };
    if let Some(what) = what {
        return Err(Failure::usage(format!(
            "the call belongs to no {what}; choose another --scope"
        )));
    }
    let now = SystemClock.now_ms();
    let record = DecisionRecord {
        decision: decision.clone(),
        decided_by: os_user::current_user(),
        decided_at: now,
    };
    let grant = grant_from_decision(request, &record).ok_or_else(|| {
        Failure::usage(format!(
            "{}; `toolcrib approve yes {}` lets the call run this once",
            unanswerable(request),
            request.id
        ))
    })?;
    if !grant.matches_args(&request.args) {
        return Err(Failure::usage(format!(
            "this very call does not look like that ({}); nothing was decided",
            crate::terminal::escape_to_line(&request.args.to_string())
        )));
    }
    Ok(grant)
}

/// Why no grant answers the question.
fn unanswerable(request: &ApprovalRequest) -> &'static str {
    match request.reasons.iter().any(|reason| reason.kind.always_asks()) {
        true => "it is a call that always asks, and no remembered approval answers that",
        false => {
            "it is asked only because of what its run has read, and a remembered approval answers that only with --taint"
        }
    }
}
