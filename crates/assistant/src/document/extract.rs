//! Text extraction from files.

use toolcrib_core::{BoxFuture, ToolError};

/// Part of the text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextWindow {
    /// Name of the format, such as "PDF".
    pub format: String,
    /// Name of a part; empty if the format has no parts.
    pub unit: String,
    /// Number of parts; 0 if the format has no parts.
    pub count: u32,
    /// Parts with their numbers from 1, or one part with the number 0.
    pub parts: Vec<(u32, String)>,
    /// The first part of the next window; `None` after the last part.
    pub next: Option<u32>,
    /// Why the text is incomplete, if an error occurred.
    pub problem: Option<String>,
}

/// Extracts text from files, in windows of bounded size.
pub trait TextExtractor: Send + Sync {
    /// Extracts the text, starting at a part.
    ///
    /// # Errors
    /// The file has no readable text; the message says what to do.
    fn extract<'a>(
        &'a self,
        name: &'a str,
        bytes: &'a [u8],
        first_part: u32,
    ) -> BoxFuture<'a, Result<TextWindow, ToolError>>;
}
