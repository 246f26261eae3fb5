//! `toolcrib approve always`: what it will match is said before it is given.

use toolcrib_app::core::{
    ApprovalRequest, Clock as _, Decision, DecisionRecord, Grant, ReasonKind, SystemClock,
};
use toolcrib_app::{Stores, grant_of};

use super::super::scope;
use super::{decide, find, other_kind};
use crate::cli::{Always, Scope};
use crate::output::{self, Failure};
use crate::person;

pub(super) async fn run(stores: &Stores, command: &Always, json: bool) -> Result<u8, Failure> {
    let question = find(stores, &command.which.id).await?;
    let (waiting, decided) = &question;
    let request = &waiting.request;
    if request.question.is_some() {
        return Err(other_kind(request));
    }
    let only = command.only.iter().cloned().collect();
    let decision = Decision::Approve { scope: command.scope.into(), only, taint: command.taint };
    if decided.is_some() && !command.dry_run {
        return decide::apply(stores, question, decision, command.which.resume, json).await;
    }
    let grant = grant(request, &decision, command)?;
    let matched = scope::matched(stores, &grant).await;
    if command.dry_run && json {
        output::document(&scope::machine(&grant, Some(&matched?)), true)?;
        return Ok(0);
    }
    let mut lines = vec![format!("this will match {}", scope::words(&grant))];
    match matched {
        Ok(matched) => lines.extend(scope::lines(&matched, SystemClock.now_ms())),
        // To give it needs no look back.
        Err(failure) => lines.push(format!("past calls cannot be looked up: {}", failure.message)),
    }
    if !command.taint && request.reasons.iter().any(|reason| reason.kind == ReasonKind::Taint) {
        let text = "it does not answer for what a run has read: in such a run it is asked again (--taint includes that)";
        lines.push(text.to_owned());
    }
    if command.dry_run {
        output::data(&lines.join("\n"))?;
        return Ok(0);
    }
    lines.iter().for_each(|line| output::remark(line, json));
    decide::apply(stores, question, decision, command.which.resume, json).await
}

/// The grant that the decision would give.
fn grant(
    request: &ApprovalRequest,
    decision: &Decision,
    command: &Always,
) -> Result<Grant, Failure> {
    let what = match command.scope {
        Scope::Run if request.run.is_none() => Some("run"),
        Scope::Conversation if request.context.conversation.is_empty() => Some("conversation"),
        Scope::Run | Scope::Conversation | Scope::Always => None,
    };
    if let Some(what) = what {
        return Err(Failure::usage(format!(
            "the call belongs to no {what}; choose another --scope"
        )));
    }
    let now = SystemClock.now_ms();
    let record =
        DecisionRecord { decision: decision.clone(), decided_by: person::name(), decided_at: now };
    let grant = grant_of(request, &record).ok_or_else(|| {
        Failure::usage(format!(
            "it is asked only because of what its run has read, and a remembered approval answers that only with --taint; `toolcrib approve yes {}` lets the call run this once",
            request.id
        ))
    })?;
    if !grant.fits(&request.args) {
        return Err(Failure::usage(format!(
            "this very call does not look like that ({}); nothing was decided",
            crate::terminal::one_line(&request.args.to_string())
        )));
    }
    Ok(grant)
}
