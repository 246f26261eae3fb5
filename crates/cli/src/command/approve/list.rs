//! `toolcrib approve list`.

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_core::{
    ApprovalId, ApprovalRequest, Clock as _, Decision, DecisionRecord, SystemClock,
};
use toolcrib_ops::approvals::{self, Approval, ListApprovalsRequest};

use super::super::short_id;
use super::hasty_note::hasty_notes;
use crate::output::{self, Failure};
use crate::{json_document, op_context, terminal, time_format};

/// Maximum number of questions that `--all` lists, the newest.
const LISTED: usize = 1_000;
/// Number of columns of the summary.
const SUMMARY_WIDTH: usize = 60;

pub(super) async fn run(stores: &Stores, all: bool, json: bool) -> Result<u8, Failure> {
    let ctx = op_context::for_stores(stores);
    let ids = approvals::known_ids(&ctx).await?;
    let request = match all {
        true => ListApprovalsRequest::All { before: None, limit: LISTED },
        false => ListApprovalsRequest::Pending,
    };
    let found = approvals::list(&ctx, request).await?;
    let now = SystemClock.now_ms();
    if json {
        let rows = found
            .iter()
            .filter_map(|entry| Some(row(&entry.document, entry.request.as_ref()?, &ids, now)));
        output::print_json(&rows.collect::<Value>(), true)?;
        return Ok(0);
    }
    let rows: Vec<(ApprovalRequest, Option<DecisionRecord>)> =
        found.into_iter().filter_map(|entry| Some((entry.request?, entry.decision))).collect();
    for note in hasty_notes(stores).await? {
        output::eprint_line(&format!("toolcrib: {note}"));
    }
    if rows.is_empty() {
        output::eprint_line("toolcrib: no pending approvals");
        return Ok(0);
    }
    let short = |request: &ApprovalRequest| short_id::shorten(&request.id, &ids);
    let width = rows.iter().map(|(request, _)| short(request).len()).max().unwrap_or_default();
    let mut text = format!(
        "{:<width$}  {:>7}  {:<12} {:<16} {:<8} {:<10} {:<22} WHAT\n",
        "ID", "AGE", "DEADLINE", "TOOL", "RISK", "WHY", "CALLER"
    );
    for (request, decided) in &rows {
        let what =
            terminal::truncate_to_width(&terminal::escape_to_line(&request.summary), SUMMARY_WIDTH);
        let decided = decided.as_ref().map(|record| format!("  [{}]", decision_text(record)));
        text += &format!(
            "{:<width$}  {:>7}  {:<12} {:<16} {:<8} {:<10} {:<22} {what}{}\n",
            short(request),
            time_format::format_age(request.requested_at, now),
            deadline(request, now),
            terminal::escape_to_line(request.tool.as_str()),
            risk(request),
            reason_column(request),
            terminal::truncate_to_width(&requester_column(request), 22),
            decided.unwrap_or_default(),
        );
    }
    output::print_line(&text)?;
    Ok(0)
}

/// Describes the remaining time.
pub(super) fn deadline(request: &ApprovalRequest, now: i64) -> String {
    match request.expires_at {
        None => "none".to_owned(),
        Some(end) if now >= end => "expired".to_owned(),
        Some(end) => format!("in {}", time_format::format_age(now, end)),
    }
}

/// Returns the risk; a question of the model has no risk.
pub(super) fn risk(request: &ApprovalRequest) -> String {
    match request.question {
        Some(_) => "-".to_owned(),
        None => json!(request.risk).as_str().unwrap_or_default().to_owned(),
    }
}

/// Names the first part of policy that asks, and counts the others.
fn reason_column(request: &ApprovalRequest) -> String {
    let Some(first) = request.reasons.first() else { return "-".to_owned() };
    let first = json!(first.kind).as_str().unwrap_or_default().to_owned();
    match request.reasons.len() {
        0 | 1 => first,
        more => format!("{first} +{}", more - 1),
    }
}

/// Names the agent or the run, or describes a single call.
fn requester_column(request: &ApprovalRequest) -> String {
    match (request.context.agent.as_str(), request.run) {
        ("", None) => "a single call".to_owned(),
        ("", Some(run)) => short_id::shorten(&run, &[]),
        (agent, _) => terminal::escape_to_line(agent),
    }
}

/// Describes the decision and its author.
pub(super) fn decision_text(record: &DecisionRecord) -> String {
    let by = terminal::escape_to_line(&record.decided_by);
    if record.is_expiry() {
        return "not decided in time".to_owned();
    }
    match &record.decision {
        Decision::Approve { scope, .. } => {
            let scope = json!(scope);
            format!("approved ({}) by {by}", scope.as_str().unwrap_or_default())
        }
        Decision::Deny { note: None } => format!("denied by {by}"),
        Decision::Deny { note: Some(note) } => {
            format!("denied by {by}: {}", terminal::escape_to_line(note))
        }
        Decision::Edit { args } if args.is_string() => {
            format!("approved by {by} with other arguments, which hold a secret")
        }
        Decision::Edit { args } => {
            format!("approved by {by} with {}", terminal::escape_to_line(&args.to_string()))
        }
        Decision::Skip => format!("skipped by {by}"),
        Decision::Answer { text } => {
            format!("answered by {by}: {}", terminal::escape_to_line(text))
        }
    }
}

/// Returns a question for machines, with members that only this command has.
fn row(document: &Approval, request: &ApprovalRequest, ids: &[ApprovalId], now: i64) -> Value {
    json_document::with_members(
        document,
        json!({
            "id": request.id,
            "short": short_id::shorten(&request.id, ids),
            "kind": if request.question.is_some() { "question" } else { "call" },
            "expired": request.is_expired(now),
        }),
    )
}
