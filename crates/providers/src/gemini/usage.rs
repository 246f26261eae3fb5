//! Token usage of Gemini, in both spellings. Thoughts are counted in addition to the answer.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use crate::call_collector::field;
use crate::model_turn::Usage;

/// Applies the counters of a chunk; each chunk of a stream has the newest values.
pub(super) fn add(usage: &mut Usage, chunk: &Value) {
    let Some(counters) = field(chunk, &["usageMetadata", "usage_metadata"]) else { return };
    let count = |names: [&str; 2]| field(counters, &names).and_then(Value::as_u64);
    let answer = count(["candidatesTokenCount", "candidates_token_count"]);
    let thoughts = count(["thoughtsTokenCount", "thoughts_token_count"]);
    let output = match (answer, thoughts) {
        (None, None) => None,
        (answer, thoughts) => Some(answer.unwrap_or(0).saturating_add(thoughts.unwrap_or(0))),
    };
    let cached = count(["cachedContentTokenCount", "cached_content_token_count"]);
    usage.input = count(["promptTokenCount", "prompt_token_count"]).or(usage.input);
    usage.output = output.or(usage.output);
    usage.cache_read = cached.or(usage.cache_read);
    usage.reasoning = thoughts.or(usage.reasoning);
}
