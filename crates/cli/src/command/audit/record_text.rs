//! Renders records of the audit for people. Models and tools also wrote parts of them, so all text
//! is escaped for the terminal.

use std::borrow::Cow;

use serde::Deserialize as _;
use serde_json::{Value, json};
use toolcrib_core::{AuditEvent, AuditKind};
use toolcrib_ops::audit::RecordReply;

use crate::{terminal, time_format};

/// Members that are not shown with the others: the position, which is in the heading, and the
/// version.
const HEADING_FIELDS: [&str; 3] = ["seq", "chain", "v"];
/// The first members, in order of their importance for people.
const FIELD_ORDER: [&str; 10] = [
    "at",
    "kind",
    "tool",
    "operation",
    "outcome",
    "error_type",
    "policy",
    "decision",
    "by",
    "call",
];
/// Number of columns of the policy.
const POLICY_WIDTH: usize = 60;
/// Number of columns of names.
const NAME_WIDTH: usize = 24;

/// Returns the header above the lines.
pub(super) fn header() -> String {
    columns("NUMBER", "TIME", "KIND", "TOOL", "WHAT", "BY", &format!("{:<37}  POLICY", "CALL"))
}

/// Renders one record as one line.
pub(super) fn summary_line(row: &RecordReply) -> String {
    let number = row.seq.to_string();
    let Ok(event) = AuditEvent::deserialize(&row.record) else {
        let text = terminal::truncate_to_width(&terminal::escape_to_line(&row.text()), 80);
        return columns(&number, "-", "unreadable", &text, "", "", "");
    };
    let about = event.tool.as_deref().or(event.operation.as_deref()).unwrap_or("-");
    let id = event.call.map(|call| call.to_string());
    let id = id.or_else(|| event.batch.map(|batch| batch.to_string()));
    let id = id.or_else(|| event.grant.map(|grant| grant.to_string()));
    let mut line = columns(
        &number,
        &time_format::format_local(event.at),
        &wire_name(json!(event.kind)),
        &short_name(about),
        &event_summary(&event),
        &short_name(event.by.as_deref().unwrap_or("-")),
        id.as_deref().unwrap_or("-"),
    );
    if let Some(policy) = &event.policy {
        line += &format!(
            "  {}",
            terminal::truncate_to_width(&terminal::escape_to_line(policy), POLICY_WIDTH)
        );
    }
    line
}

fn columns(
    number: &str,
    time: &str,
    kind: &str,
    tool: &str,
    what: &str,
    by: &str,
    id: &str,
) -> String {
    let line =
        format!("{number:>7}  {time:<19}  {kind:<13}  {tool:<18}  {what:<20}  {by:<14}  {id}");
    line.trim_end().to_owned()
}

/// Returns the most important detail of an event of this kind.
fn event_summary(event: &AuditEvent) -> String {
    let decision = event.decision.as_deref().unwrap_or("-");
    match event.kind {
        AuditKind::Settled => {
            let outcome = event.outcome.map_or("-", |outcome| outcome.as_str());
            match event.error_type {
                Some(error_type) => {
                    let error_type = wire_name(json!(error_type));
                    if error_type == outcome {
                        error_type
                    } else {
                        format!("{outcome} {error_type}")
                    }
                }
                None => outcome.to_owned(),
            }
        }
        AuditKind::Started => {
            event.effect.map_or("-".to_owned(), |effect| wire_name(json!(effect)))
        }
        AuditKind::Asked => event.risk.map_or("-".to_owned(), |risk| wire_name(json!(risk))),
        AuditKind::Accepted => {
            event.origin.map_or("-".to_owned(), |origin| wire_name(json!(origin)))
        }
        _ => short_name(decision),
    }
}

/// Returns the wire name of an enum value.
fn wire_name(value: Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn short_name(text: &str) -> String {
    terminal::truncate_to_width(&terminal::escape_to_line(text), NAME_WIDTH)
}

/// Renders one record with all members, one line each.
pub(super) fn details(row: &RecordReply) -> String {
    let chain = if row.chain == toolcrib_core::audit::LOCAL_CHAIN {
        String::new()
    } else {
        format!(" of chain {}", row.chain)
    };
    let mut text = format!("record {}{chain}\n", row.seq);
    let mut line = |name: &str, value: &str| {
        text += &format!("  {name:<16} {}\n", terminal::escape_to_line(value));
    };
    match &row.record {
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members
                .iter()
                .filter(|(name, _)| !HEADING_FIELDS.contains(&name.as_str()))
                .collect();
            let rank = |name: &str| FIELD_ORDER.iter().position(|first| *first == name);
            members.sort_by_key(|(name, _)| rank(name).unwrap_or(FIELD_ORDER.len()));
            for (name, value) in members {
                let value = field_text(name, value);
                if !value.is_empty() {
                    line(&terminal::escape_to_line(name), &value);
                }
            }
        }
        _ => line("unreadable", &row.text()),
    }
    line("hash", &row.hash);
    text
}

/// Renders a member's value: times in local time, lists and objects on one line.
fn field_text(name: &str, value: &Value) -> String {
    match (name, value) {
        ("at", Value::Number(at)) => {
            at.as_i64().map_or_else(|| at.to_string(), time_format::format_local)
        }
        ("run_nanos", Value::Number(nanos)) => {
            nanos.as_u64().map_or_else(|| nanos.to_string(), time_format::format_elapsed)
        }
        (_, Value::String(text)) => text.clone(),
        (_, Value::Array(items)) => {
            let items: Vec<Cow<'_, str>> = items.iter().map(unquoted).collect();
            items.join("; ")
        }
        (_, Value::Object(members)) => {
            let members: Vec<String> =
                members.iter().map(|(name, value)| format!("{name}={}", unquoted(value))).collect();
            members.join(" ")
        }
        (_, value) => value.to_string(),
    }
}

fn unquoted(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        value => Cow::Owned(value.to_string()),
    }
}
