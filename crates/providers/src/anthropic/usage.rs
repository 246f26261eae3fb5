//! Token usage of Anthropic Messages. Its `input_tokens` count only tokens that were neither read
//! from nor written into a cache.
#![deny(clippy::indexing_slicing)]

use serde_json::Value;

use crate::call_collector::count_field;
use crate::model_turn::Usage;

/// The newest value of each counter: `message_delta` repeats some counters of `message_start` with
/// larger numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

impl Counters {
    pub(super) fn add(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let newest = |key, old: Option<u64>| count_field(usage, key).or(old);
        self.input = newest("input_tokens", self.input);
        self.output = newest("output_tokens", self.output);
        self.cache_read = newest("cache_read_input_tokens", self.cache_read);
        self.cache_write = newest("cache_creation_input_tokens", self.cache_write);
    }

    pub(super) fn usage(self) -> Option<Usage> {
        let Self { input, output, cache_read, cache_write } = self;
        let cached = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
        let usage = Usage {
            input: input.map(|input| input.saturating_add(cached)),
            output,
            cache_read,
            cache_write,
            reasoning: None,
        };
        (usage != Usage::default()).then_some(usage)
    }
}
