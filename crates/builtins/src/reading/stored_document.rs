//! Documents that people have added, which another crate stores.

use toolcrib_core::{BoxFuture, CallCtx, ToolError};

/// Reads the documents that people have added.
pub trait StoredDocuments: Send + Sync {
    /// Reads the text of a document, given by its id or name, from a character of a page on.
    ///
    /// # Errors
    /// The document or page does not exist, or the caller may not read documents.
    fn read<'a>(
        &'a self,
        ctx: &'a CallCtx,
        part: DocumentPart<'a>,
    ) -> BoxFuture<'a, Result<DocumentText, ToolError>>;
}

/// A part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentPart<'a> {
    /// Id or name.
    pub document: &'a str,
    /// First page.
    pub page: u32,
    /// First character in that page.
    pub offset: u32,
    /// Maximum characters.
    pub max_chars: usize,
}

/// Part of the text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentText {
    /// Its name.
    pub name: String,
    /// Its format, such as `PDF`.
    pub format: String,
    /// The text.
    pub text: String,
    /// Page and character where the next part begins; `None` at the end.
    pub next: Option<(u32, u32)>,
    /// The origin of the document if a run added it after reading text from outside.
    pub untrusted: Option<String>,
}
