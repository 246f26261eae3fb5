//! Documents that people have put in, which another crate keeps.

use toolcrib_core::{BoxFuture, CallCtx, ToolError};

/// Reads the documents that people have put in.
pub trait StoredDocuments: Send + Sync {
    /// The text of a document, by its id or name, from a character of a page on.
    ///
    /// # Errors
    /// There is no such document or page, or the caller may not read documents.
    fn read<'a>(
        &'a self,
        ctx: &'a CallCtx,
        part: DocumentPart<'a>,
    ) -> BoxFuture<'a, Result<DocumentText, ToolError>>;
}

/// Which part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentPart<'a> {
    /// Id or name.
    pub document: &'a str,
    /// First page.
    pub page: u32,
    /// First character in that page.
    pub offset: u32,
    /// Characters at most.
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
    /// Page and character to go on with; `None` = this is the end.
    pub next: Option<(u32, u32)>,
    /// What it comes from, if a run put it in that had read text from outside.
    pub untrusted: Option<String>,
}
