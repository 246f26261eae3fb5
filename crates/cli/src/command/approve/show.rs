//! `toolcrib approve show`: everything that a decision concerns.

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_core::store::PendingApproval;
use toolcrib_core::{Clock as _, SystemClock, effective_channel};
use toolcrib_ops::approvals::{self, ShowApprovalReply, ShowApprovalRequest};

use super::super::{grant_preview, lookup};
use super::list::{deadline, decision_text, risk};
use super::resume_target;
use crate::output::{self, Failure};
use crate::terminal::{self, Styler};
use crate::{json_document, op_context, time_format};

pub(super) async fn run(stores: &Stores, id: &str, json: bool) -> Result<u8, Failure> {
    let ctx = op_context::for_stores(stores);
    let id = approvals::resolve_approval(&ctx, id).await?;
    let question = approvals::show(&ctx, ShowApprovalRequest { id }).await?;
    if json {
        output::print_json(&to_json(stores, question).await?, true)?;
    } else {
        output::print_line(&to_text(&question))?;
    }
    Ok(0)
}

/// Returns the question for machines, with members that only this command has.
async fn to_json(stores: &Stores, question: ShowApprovalReply) -> Result<Value, Failure> {
    let request = question.waiting.request.clone();
    let expired = question.decided.is_none() && request.is_expired(SystemClock.now_ms());
    let goes_on = resume_target::find(stores, &question.waiting).await?.continued_by();
    let own = json!({ "request": request, "expired": expired });
    // The sandbox level is omitted: it depends on the tools, which this command does not load.
    Ok(json_document::with_members(&question.into_details(goes_on, None), own))
}

fn to_text(question: &ShowApprovalReply) -> String {
    let ShowApprovalReply { waiting, decided, earlier, .. } = question;
    let request = &waiting.request;
    let now = SystemClock.now_ms();
    let line = |text: &str| terminal::escape_to_line(text);
    let asked = format!(
        "{} ({} ago)",
        time_format::format_local(request.requested_at),
        time_format::format_age(request.requested_at, now)
    );
    let deadline = match (request.expires_at, decided) {
        (Some(end), Some(_)) => time_format::format_local(end),
        (Some(end), None) => {
            format!("{} ({})", time_format::format_local(end), deadline(request, now))
        }
        (None, _) => "none".to_owned(),
    };
    let mut facts: Vec<(&str, String)> = vec![
        ("id", request.id.to_string()),
        ("call", request.call.to_string()),
        ("run", request.run.map(|run| run.to_string()).unwrap_or_default()),
        ("agent", line(&request.context.agent)),
        ("conversation", line(&request.context.conversation)),
        ("topic", line(&request.context.topic)),
        ("workspace", line(&workspace(waiting))),
        ("asked by", json!(request.origin).as_str().unwrap_or_default().to_owned()),
        ("channel", line(effective_channel(&request.context, request.origin))),
        ("asked at", asked),
        ("deadline", deadline),
    ];
    if request.question.is_none() {
        facts.extend(request.reasons.iter().enumerate().map(|(at, reason)| {
            let name = if at == 0 { "why asked" } else { "and" };
            (name, line(&terminal::describe_reason(reason)))
        }));
        facts.extend([
            ("operation", line(&request.operation)),
            ("risk", risk(request)),
            ("effect", json!(request.effect).as_str().unwrap_or_default().to_owned()),
            ("reach", lookup::reach_text(request.reach)),
            ("definition", grant_preview::short_hash(&request.definition_hash).to_owned()),
        ]);
    }
    if let Some(record) = decided {
        let at = time_format::format_local(record.decided_at);
        facts.push(("decision", format!("{}, {at}", decision_text(record))));
    }
    let mut text = format!("{}: {}\n\n", line(request.tool.as_str()), line(&request.summary));
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("{name:<13} {value}\n");
    }
    text += &arguments_or_question_text(waiting);
    for (at, entry) in earlier.iter().enumerate() {
        let head = if at == 0 { "\nearlier decisions about calls like this:\n" } else { "" };
        let words = entry.decision.as_ref().map(decision_text).unwrap_or_default();
        let args = terminal::truncate_to_width(&line(&entry.document.args.to_string()), 60);
        text += &format!("{head}  {words}  {args}\n");
    }
    text
}

/// Renders the complete arguments and their effect, or the question.
fn arguments_or_question_text(waiting: &PendingApproval) -> String {
    let request = &waiting.request;
    if let Some(question) = &request.question {
        let mut text = format!("\n{}\n", terminal::escape_controls(&question.question));
        if !question.context.is_empty() {
            text += &format!("\n{}\n", terminal::escape_controls(&question.context));
        }
        for (at, option) in question.options.iter().enumerate() {
            text += &format!("  {}) {}\n", at + 1, terminal::escape_to_line(option));
        }
        return text;
    }
    let mut text = format!("\n{}", terminal::render_args(&request.args, &[]));
    let paint = Styler { colour: false };
    if let Some(preview) =
        terminal::preview_call(request.tool.as_str(), &request.args, &workspace(waiting), paint)
    {
        text += &format!("\n{}", preview.text);
    }
    text
}

/// Returns the workspace folder of the call.
fn workspace(waiting: &PendingApproval) -> String {
    let own = &waiting.request.context.workspace;
    if !own.is_empty() {
        return own.clone();
    }
    let setup = resume_target::stored_setup(waiting).ok();
    let path = setup.and_then(|setup| setup.workspace());
    path.map(|path| path.display().to_string()).unwrap_or_default()
}
