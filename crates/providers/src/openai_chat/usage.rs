//! Token usage and reasoning, in the spellings of the servers with Chat Completions.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use crate::call_collector::{count_field, field, text_field};
use crate::model_turn::Usage;

/// Returns the usage in a body or chunk: OpenAI's member, Groq's wrapper of it, or Ollama's
/// counters.
pub(super) fn usage(value: &Value) -> Option<Usage> {
    let wrapped = || value.get("x_groq").and_then(|groq| field(groq, &["usage"]));
    let usage = match field(value, &["usage"]).or_else(wrapped) {
        Some(usage) => {
            let input = field(usage, &["prompt_tokens_details"]);
            let output = field(usage, &["completion_tokens_details"]);
            let of = |details: Option<&Value>, key| details.and_then(|d| count_field(d, key));
            Usage {
                input: count_field(usage, "prompt_tokens"),
                output: count_field(usage, "completion_tokens"),
                // DeepSeek reports cache hits next to the details.
                cache_read: of(input, "cached_tokens")
                    .or_else(|| count_field(usage, "prompt_cache_hit_tokens")),
                cache_write: of(input, "cache_write_tokens"),
                reasoning: of(output, "reasoning_tokens"),
            }
        }
        None => Usage {
            input: count_field(value, "prompt_eval_count"),
            output: count_field(value, "eval_count"),
            ..Usage::default()
        },
    };
    (usage != Usage::default()).then_some(usage)
}

/// Returns the reasoning in a message or delta. Servers that fill several of these members repeat
/// the same text.
pub(crate) fn reasoning(message: &Map<String, Value>) -> String {
    let plain = ["reasoning_content", "reasoning", "thinking"]
        .into_iter()
        .filter_map(|key| message.get(key).and_then(Value::as_str))
        .find(|text| !text.is_empty());
    if let Some(text) = plain {
        return text.to_owned();
    }
    let details = message.get("reasoning_details").and_then(Value::as_array);
    let details = details.map(Vec::as_slice).unwrap_or_default();
    details
        .iter()
        .filter_map(|d| text_field(d, "text").or_else(|| text_field(d, "summary")))
        .collect()
}
