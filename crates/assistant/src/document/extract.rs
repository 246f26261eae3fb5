//! Text out of files.

use toolcrib_core::{BoxFuture, ToolError};

/// Part of the text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextWindow {
    /// What the file is, such as "PDF".
    pub format: String,
    /// What its parts are called; empty = it has none.
    pub unit: String,
    /// Number of its parts; 0 = it has none.
    pub count: u32,
    /// Parts with their numbers from 1, or one part with the number 0.
    pub parts: Vec<(u32, String)>,
    /// The part to go on with; `None` = that was all.
    pub next: Option<u32>,
    /// Why it is not all, if something went wrong.
    pub problem: Option<String>,
}

/// Reads text out of files, in windows of bounded size.
pub trait TextExtractor: Send + Sync {
    /// The text from a part on.
    ///
    /// # Errors
    /// The file has no text that can be read; the message says what to do.
    fn extract<'a>(
        &'a self,
        name: &'a str,
        bytes: &'a [u8],
        first_part: u32,
    ) -> BoxFuture<'a, Result<TextWindow, ToolError>>;
}
