//! Usage and reasoning of Responses.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use crate::calls::{count, field, text_of};
use crate::turn::Usage;

/// The usage of a response object.
pub(super) fn usage(response: &Value) -> Option<Usage> {
    let usage = field(response, &["usage"])?;
    let of = |details: &str, key| field(usage, &[details]).and_then(|d| count(d, key));
    let usage = Usage {
        input: count(usage, "input_tokens"),
        output: count(usage, "output_tokens"),
        cache_read: of("input_tokens_details", "cached_tokens"),
        cache_write: of("input_tokens_details", "cache_write_tokens"),
        reasoning: of("output_tokens_details", "reasoning_tokens"),
    };
    (usage != Usage::default()).then_some(usage)
}

/// What a reasoning item shows: its summary, or the reasoning itself where a model is open. The parts are paragraphs.
pub(crate) fn reasoning_text(item: &Value) -> String {
    let texts = |key: &str| -> Vec<&str> {
        let parts = item.get(key).and_then(Value::as_array);
        parts.into_iter().flatten().filter_map(|part| text_of(part, "text")).collect()
    };
    let summary = texts("summary");
    if summary.is_empty() { texts("content") } else { summary }.join("\n\n")
}
