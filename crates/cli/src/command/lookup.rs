//! Calls in texts and JSON, for the commands that look back.

use serde_json::{Value, json};
use toolcrib_core::{CallRow, CallStatus, StoreError};

use crate::output::Failure;
use crate::terminal;

pub(super) use crate::op_context::LOCAL_OWNER;

/// Columns of a call's arguments in a list.
const ARGUMENTS_WIDTH: usize = 44;

pub(super) fn store_failure(error: StoreError) -> Failure {
    Failure::run(error.to_string())
}

/// Where a call stands.
pub(super) fn call_status(row: &CallRow) -> CallStatus {
    row.end.as_ref().map_or(CallStatus::Open, |end| CallStatus::Ended(end.outcome))
}

/// The same in one word.
pub(super) fn status_word(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Open => "open",
        CallStatus::Ended(kind) => kind.as_str(),
    }
}

/// The tool of a call, or the name that was asked for where there is none.
pub(super) fn tool_name(row: &CallRow) -> String {
    let tool = row.facts.tool.as_ref().map(ToString::to_string);
    let name = tool.or_else(|| row.facts.asked.clone()).unwrap_or_default();
    terminal::truncate_to_width(&terminal::escape_to_line(&name), ARGUMENTS_WIDTH)
}

/// What a call was about: its arguments, which were recorded without secrets; of several the values
/// that tell them apart come first.
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

/// A call for machines, with the time at which its changes were undone.
pub(super) fn call_json(row: &CallRow, undone_at: Option<i64>) -> Value {
    let (facts, end) = (&row.facts, row.end.as_ref());
    let args: Option<Value> =
        facts.args.as_deref().and_then(|args| serde_json::from_str(args).ok());
    json!({
        "call": facts.call,
        "status": status_word(call_status(row)),
        "tool": facts.tool,
        "asked": facts.asked,
        "operation": facts.operation,
        "origin": facts.origin,
        "agent": non_empty(&facts.context.agent),
        "conversation": non_empty(&facts.context.conversation),
        "topic": non_empty(&facts.context.topic),
        "workspace": non_empty(&facts.context.workspace),
        "channel": non_empty(&facts.context.channel),
        "device": non_empty(&facts.context.device),
        "run": facts.run,
        "received_at": facts.received_at,
        "started_at": row.started_at,
        "ended_at": end.map(|end| end.ended_at),
        "duration_ms": end.filter(|end| end.attempts > 0).map(|end| end.run_nanos as f64 / 1e6),
        "attempts": end.map(|end| end.attempts),
        "error_type": end.and_then(|end| end.error_type),
        "message": end.and_then(|end| end.message.clone()),
        "risk": facts.risk,
        "effect": facts.effect,
        "args": args,
        "args_hash": facts.args_hash,
        "definition_hash": facts.definition_hash,
        "output_hash": end.and_then(|end| end.output_hash.clone()),
        "policy": facts.policy,
        "approval": facts.approval,
        "approved_by": facts.approved_by,
        "undone_at": undone_at,
    })
}

/// Empty text means that there is none.
pub(super) fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
