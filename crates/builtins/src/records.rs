//! What the tools that look back read: calls, usage, conversations, open questions, and the tools that there are.

use std::sync::{Arc, Weak};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use toolcrib_core::{
    ApprovalStore, CallHistory, CallRow, CallStore, Catalog, ConversationStore, RunId, RunUsage,
    StoreError, ToolError, UsageStore,
};

/// ISO 8601 in UTC, to the millisecond: what `review_tool_calls` takes too.
const ISO: &str = "%Y-%m-%dT%H:%M:%S%.3fZ";
/// Characters of a call's arguments that are shown.
const ARGS_CHARS: usize = 300;

/// Says what an open run has used so far; `None` = it is not open here.
pub type UsageOfRun = Arc<dyn Fn(RunId) -> Option<RunUsage> + Send + Sync>;

/// Where calls and everything around them are remembered. What belongs to the engine that runs the tools is looked up and not held: it holds
/// the tools.
#[derive(Clone)]
pub struct Records {
    /// Outcomes of calls.
    pub calls: Arc<dyn CallStore>,
    /// Looking for calls.
    pub history: Arc<dyn CallHistory>,
    /// What models used.
    pub usage: Arc<dyn UsageStore>,
    /// Conversations.
    pub conversations: Arc<dyn ConversationStore>,
    /// Questions to people.
    pub approvals: Arc<dyn ApprovalStore>,
    /// The tools.
    pub catalog: Weak<dyn Catalog>,
    /// Budgets of open runs.
    pub run_usage: UsageOfRun,
}

/// What a model is told when a store cannot be read.
pub(crate) fn unreadable(error: &StoreError) -> ToolError {
    ToolError::execution("The records cannot be read now. Go on without them, or try again later.")
        .with_detail(error.to_string())
}

/// A time for models.
pub(crate) fn iso(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map(|time| time.to_zoned(TimeZone::UTC).strftime(ISO).to_string())
        .unwrap_or_default()
}

/// The first characters of a text; `true` = there are more.
pub(crate) fn first(text: &str, chars: usize) -> (&str, bool) {
    match text.char_indices().nth(chars) {
        Some((at, _)) => (text.get(..at).unwrap_or(text), true),
        None => (text, false),
    }
}

/// What is said of a call in every list of calls: which, when, what and how it ended.
pub(crate) fn entry(row: &CallRow) -> Map<String, Value> {
    let facts = &row.facts;
    let tool = facts.tool.as_ref().map(ToString::to_string).or_else(|| facts.asked.clone());
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| {
        entry.insert(key.to_owned(), value);
    };
    put("call", json!(facts.call));
    put("at", json!(iso(facts.received_at)));
    put("tool", json!(tool));
    if facts.operation != tool
        && let Some(operation) = &facts.operation
    {
        put("operation", json!(operation));
    }
    match &row.end {
        None => put("status", json!("running")),
        Some(end) => {
            put("status", json!(end.outcome));
            if end.attempts > 0 {
                put("duration_ms", json!(end.run_nanos / 1_000_000));
            }
            if let Some(error_type) = end.error_type {
                put("error_type", json!(error_type));
            }
        }
    }
    entry
}

/// The arguments in short, as they were recorded: secrets are masked there already.
pub(crate) fn short_args(row: &CallRow) -> Option<String> {
    let args = row.facts.args.as_deref().filter(|args| *args != "{}")?;
    let (head, cut) = first(args, ARGS_CHARS);
    Some(if cut { format!("{head}…") } else { head.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        for (text, chars, expected) in [
            ("", 3, ("", false)),
            ("äöü", 3, ("äöü", false)),
            ("äöü!", 3, ("äöü", true)),
            ("x", 0, ("", true)),
        ] {
            assert_eq!(first(text, chars), expected, "{text}");
        }
        assert_eq!(iso(1_795_273_445_678), "2026-11-21T15:04:05.678Z");
        assert_eq!(iso(i64::MAX), "", "no such time");
    }
}
