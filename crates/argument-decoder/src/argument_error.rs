//! A place in the text that has no unambiguous reading, and the message that tells the model how to
//! fix it.
#![deny(clippy::indexing_slicing)]

use super::value_preview::shorten;

/// The reason why the text cannot be read.
#[derive(Debug)]
pub(super) struct ArgumentError {
    /// Byte offset in the parsed text.
    pub(super) at: usize,
    /// The text found there; a fragment that follows "found".
    pub(super) found: String,
    /// What to send instead; a full sentence.
    pub(super) fix: &'static str,
}

impl ArgumentError {
    pub(super) fn new(at: usize, found: impl Into<String>, fix: &'static str) -> Self {
        Self { at, found: found.into(), fix }
    }

    /// Renders the message for the model. `text` is the parsed text; `encodings` is the number of
    /// JSON strings that were unwrapped to reach it.
    pub(super) fn render(&self, text: &str, encodings: usize) -> String {
        let before = text.get(..self.at).unwrap_or(text);
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        let column = before.get(start..).unwrap_or_default().chars().count() + 1;
        let inside = if encodings > 0 { " of the text inside the JSON string" } else { "" };
        format!(
            "The arguments are not valid JSON. At line {line}, column {column} (byte {}){inside}: found {}. {}",
            self.at,
            shorten(&self.found, 300),
            self.fix
        )
    }
}
