//! Renders calls as text and JSON, for the commands that read past calls.

use serde_json::Value;
use toolcrib_core::{CallRow, CallStatus, Reach};

use crate::terminal;

pub(super) use crate::op_context::LOCAL_OWNER;

/// Number of columns of a call's arguments in a list.
const ARGUMENTS_WIDTH: usize = 44;

/// Returns the status of a call.
pub(super) fn call_status(row: &CallRow) -> CallStatus {
    row.end.as_ref().map_or(CallStatus::Open, |end| CallStatus::Ended(end.outcome))
}

/// Returns the status as one word.
pub(super) fn status_word(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Open => "open",
        CallStatus::Ended(kind) => kind.as_str(),
    }
}

/// How far a call reaches.
pub(super) fn reach_text(reach: Reach) -> String {
    let parts = [
        (reach.outbound, "sends outside this machine"),
        (reach.exec, "runs programs"),
        (reach.private_read, "reads private data"),
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    if parts.is_empty() { "this machine".to_owned() } else { parts.join(", ") }
}

/// The tool of a call, or the name that was asked for where there is none.
pub(super) fn tool_name(row: &CallRow) -> String {
    let tool = row.facts.tool.as_ref().map(ToString::to_string);
    let name = tool.or_else(|| row.facts.asked.clone()).unwrap_or_default();
    terminal::truncate_to_width(&terminal::escape_to_line(&name), ARGUMENTS_WIDTH)
}

/// Summarizes a call by its arguments, which were recorded without secrets; if there are several,
/// the most distinctive values come first.
pub(super) fn arguments_summary(row: &CallRow) -> String {
    let args = row.facts.args.as_deref().unwrap_or_default();
    let text = match serde_json::from_str(args) {
        Ok(Value::Object(map)) if map.is_empty() => String::new(),
        Ok(Value::Object(map)) => {
            let one = |(name, value): (&String, &Value)| match value {
                Value::String(text) => format!("{name}={text}"),
                value => format!("{name}={value}"),
            };
            map.iter().map(one).collect::<Vec<_>>().join(" ")
        }
        _ if args.is_empty() && row.facts.args_hash.is_some() => "(long arguments)".to_owned(),
        _ => args.to_owned(),
    };
    terminal::truncate_to_width(&terminal::escape_to_line(&text), ARGUMENTS_WIDTH)
}

/// Converts an empty text to `None`.
pub(super) fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
