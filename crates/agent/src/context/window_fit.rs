//! Checks whether a conversation fits into a model's context window, and reports the error if it
//! fits into none.

use std::fmt;

use super::context_windows::ContextWindow;

/// Tokens reserved for an answer without a configured limit.
const ANSWER: u64 = 4_096;

/// Largest part of a window that an answer may reserve (a quarter), so that small windows have
/// space for a conversation.
const MOST_OF_WINDOW: u64 = 4;

/// Part of a window that stays free (a twentieth), because token counts are estimates: code and
/// languages other than English have fewer characters per token.
const MARGIN: u64 = 20;

/// Returns the tokens to reserve for the answer: the requested number up to the model's limit,
/// otherwise a default; at most a quarter of the window.
#[must_use]
pub fn output_reserve(window: &ContextWindow, max_output: Option<u64>) -> u64 {
    let wanted = max_output.unwrap_or(ANSWER);
    let possible = window.max_output.map_or(wanted, |most| wanted.min(most));
    possible.min(window.tokens / MOST_OF_WINDOW)
}

/// Returns the tokens left for messages besides `overhead` (system prompt and declared tools), an
/// answer, and a margin of a twentieth.
#[must_use]
pub fn input_budget(window: &ContextWindow, overhead: u64, max_output: Option<u64>) -> u64 {
    let free = output_reserve(window, max_output) + window.tokens / MARGIN;
    window.tokens.saturating_sub(free).saturating_sub(overhead)
}

/// Returns whether a request of `estimate` tokens fits with its answer. A fallback model whose
/// window is too small is skipped.
#[must_use]
pub fn fits(window: &ContextWindow, estimate: u64, max_output: Option<u64>) -> bool {
    estimate.saturating_add(output_reserve(window, max_output)) <= window.tokens
}

/// A model that was considered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Id of the provider entry.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Its window.
    pub window: ContextWindow,
}

/// No model of the chain has a large enough window. The message is for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NoneFits {
    /// Estimated tokens of the request.
    pub estimate: u64,
    /// The models, in the order of the chain.
    pub candidates: Vec<Candidate>,
}

impl fmt::Display for NoneFits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = thousands(self.estimate);
        write!(f, "the conversation has about {size} tokens (estimate), too many for ")?;
        for (at, candidate) in self.candidates.iter().enumerate() {
            let Candidate { provider, model, window } = candidate;
            let (before, about) =
                (if at == 0 { "" } else { ", " }, if window.known { "" } else { "about " });
            let tokens = thousands(window.tokens);
            write!(f, "{before}{model} ({provider}: window of {about}{tokens})")?;
        }
        if self.candidates.is_empty() {
            f.write_str("any model: none is configured")?;
        }
        f.write_str("; start a new conversation, use a model with a larger window, or give the window of yours if it is larger than that")
    }
}

/// Returns a number with a comma before each three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(tokens: u64, max_output: Option<u64>) -> ContextWindow {
        ContextWindow { tokens, max_output, known: max_output.is_some() }
    }

    #[test]
    fn room_for_an_answer_is_kept() {
        for (tokens, most, asked, reserved) in [
            (200_000, Some(64_000), None, 4_096),
            (200_000, Some(64_000), Some(8_000), 8_000),
            (200_000, Some(1_000), Some(8_000), 1_000),
            (8_192, None, None, 2_048),
            (0, None, None, 0),
        ] {
            let window = window(tokens, most);
            assert_eq!(output_reserve(&window, asked), reserved, "{tokens} {asked:?}");
            assert!(fits(&window, tokens - reserved, asked));
            assert!(!fits(&window, tokens - reserved + 1, asked));
        }
        assert_eq!(
            input_budget(&window(100_000, Some(9)), 10_000, None),
            100_000 - 9 - 5_000 - 10_000
        );
        assert_eq!(input_budget(&window(1_000, None), 5_000, None), 0);
        assert!(!fits(&window(1_000, None), u64::MAX, Some(1)));
    }

    #[test]
    fn the_message_names_every_model_its_window_and_the_size() {
        let candidate =
            |model: &str, window| Candidate { provider: "p".into(), model: model.into(), window };
        let error = NoneFits {
            estimate: 1_234_567,
            candidates: vec![
                candidate("a", window(200_000, Some(1))),
                candidate("b", window(999, None)),
            ],
        };
        let text = error.to_string();
        assert!(
            text.starts_with(
                "the conversation has about 1,234,567 tokens (estimate), too many for \
                 a (p: window of 200,000), b (p: window of about 999); "
            ),
            "{text}"
        );
        let none = NoneFits { estimate: 1, candidates: vec![] }.to_string();
        assert!(none.contains("none is configured"), "{none}");
    }
}
