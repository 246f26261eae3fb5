//! Token usage and reasoning of OpenAI Responses.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use crate::call_collector::{count_field, field, text_field};
use crate::model_turn::Usage;

/// Returns the usage of a response object.
pub(super) fn usage(response: &Value) -> Option<Usage> {
    let usage = field(response, &["usage"])?;
    let of = |details: &str, key| field(usage, &[details]).and_then(|d| count_field(d, key));
    let usage = Usage {
        input: count_field(usage, "input_tokens"),
        output: count_field(usage, "output_tokens"),
        cache_read: of("input_tokens_details", "cached_tokens"),
        cache_write: of("input_tokens_details", "cache_write_tokens"),
        reasoning: of("output_tokens_details", "reasoning_tokens"),
    };
    (usage != Usage::default()).then_some(usage)
}

/// Returns the text of a reasoning item: its summary, or the reasoning itself for open models. The
/// parts become paragraphs.
pub(crate) fn reasoning_text(item: &Value) -> String {
    let texts = |key: &str| -> Vec<&str> {
        let parts = item.get(key).and_then(Value::as_array);
        parts.into_iter().flatten().filter_map(|part| text_field(part, "text")).collect()
    };
    let summary = texts("summary");
    if summary.is_empty() { texts("content") } else { summary }.join("\n\n")
}
