//! The limit that a caller sets for the results of its calls.

use serde_json::Value;
use toolcrib_core::{Answer, ModelResult, defaults};
use toolcrib_sanitizer::{Keep, TruncationLimits, truncate_json};

use crate::error::OpError;

/// Minimum number of tokens of a result: the line that counts the cut text takes up to 40.
pub const MIN_RESULT_TOKENS: u32 = 64;

/// Maximum number of tokens of one result, at four characters each. The stored call keeps the
/// result without this limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultLimit {
    tokens: u32,
}

impl ResultLimit {
    /// Creates a limit of this many tokens.
    ///
    /// # Errors
    /// [`OpError::Invalid`] for fewer than [`MIN_RESULT_TOKENS`].
    pub fn new(tokens: u32) -> Result<Self, OpError> {
        if tokens < MIN_RESULT_TOKENS {
            return Err(OpError::Invalid(format!("max_tokens is at least {MIN_RESULT_TOKENS}")));
        }
        Ok(Self { tokens })
    }

    /// Returns the answer with its result cut in the middle, if it is longer.
    #[must_use]
    pub fn apply(self, answer: Answer) -> Answer {
        let Answer::Done(mut outcome) = answer else { return answer };
        if let Ok(result) = &mut outcome.result
            && self.cut(result)
        {
            outcome.notes.push(format!(
                "The result was cut to {} tokens, as asked; the stored call {} has all of it.",
                self.tokens, outcome.call
            ));
        }
        Answer::Done(outcome)
    }

    fn cut(self, result: &mut ModelResult) -> bool {
        let chars = u64::from(self.tokens).saturating_mul(defaults::CHARS_PER_TOKEN);
        let max_chars = usize::try_from(chars).unwrap_or(usize::MAX);
        let is_long = |value: &Value| value.to_string().chars().count() > max_chars;
        result.structured.take_if(|data| is_long(data));
        match &mut result.result {
            Value::String(text) if text.chars().count() > max_chars => {
                let artifact_ref = result.artifact.as_ref().map(|artifact| artifact.0.as_str());
                let limits = TruncationLimits { max_chars, keep: Keep::Both, artifact_ref };
                *text = limits.apply(text).text.into_owned();
                true
            }
            Value::String(_) => false,
            data if is_long(data) => {
                *data = truncate_json(data, max_chars).value;
                true
            }
            _ => false,
        }
    }
}
