//! Data of the introspection tools: calls, usage, conversations, pending approvals, and available
//! tools.

use std::sync::{Arc, Weak};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use toolcrib_core::{
    ApprovalStore, CallHistory, CallRow, CallStore, Catalog, ConversationStore, RunId, RunUsage,
    StoreError, ToolError, UsageStore,
};

/// ISO 8601 in UTC with milliseconds, the format that `review_tool_calls` accepts.
const ISO: &str = "%Y-%m-%dT%H:%M:%S%.3fZ";
/// Characters of a call's arguments in lists.
const ARGS_CHARS: usize = 300;

/// Returns the usage of an open run so far; `None` if it is not open in this process.
pub type RunUsageLookup = Arc<dyn Fn(RunId) -> Option<RunUsage> + Send + Sync>;

/// The stores that the introspection tools read. The catalog is a weak reference and run usage a
/// function, because the engine owns the tools.
#[derive(Clone)]
pub struct IntrospectionStores {
    /// Outcomes of calls.
    pub calls: Arc<dyn CallStore>,
    /// Search over calls.
    pub history: Arc<dyn CallHistory>,
    /// Token usage of models.
    pub usage: Arc<dyn UsageStore>,
    /// Conversations.
    pub conversations: Arc<dyn ConversationStore>,
    /// Approvals and questions.
    pub approvals: Arc<dyn ApprovalStore>,
    /// The tools.
    pub catalog: Weak<dyn Catalog>,
    /// Budgets of open runs.
    pub run_usage: RunUsageLookup,
}

/// Creates the error for a model when a store cannot be read.
pub(crate) fn store_error(error: &StoreError) -> ToolError {
    ToolError::execution("The records cannot be read now. Go on without them, or try again later.")
        .with_detail(error.to_string())
}

/// Formats a time for models.
pub(crate) fn iso(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map(|time| time.to_zoned(TimeZone::UTC).strftime(ISO).to_string())
        .unwrap_or_default()
}

/// Returns the first characters of a text; `true` if it was cut.
pub(crate) fn truncate_chars(text: &str, chars: usize) -> (&str, bool) {
    match text.char_indices().nth(chars) {
        Some((at, _)) => (text.get(..at).unwrap_or(text), true),
        None => (text, false),
    }
}

/// Returns the summary of a call in every list: id, time, tool and outcome.
pub(crate) fn call_summary(row: &CallRow) -> Map<String, Value> {
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

/// Returns the recorded arguments, shortened; secrets in the record are already masked.
pub(crate) fn short_args(row: &CallRow) -> Option<String> {
    let args = row.facts.args.as_deref().filter(|args| *args != "{}")?;
    let (head, cut) = truncate_chars(args, ARGS_CHARS);
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
            assert_eq!(truncate_chars(text, chars), expected, "{text}");
        }
        assert_eq!(iso(1_795_273_445_678), "2026-11-21T15:04:05.678Z");
        assert_eq!(iso(i64::MAX), "", "no such time");
    }
}
