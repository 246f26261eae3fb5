//! Shows the text of a document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::DocumentReply;
use crate::context::OpContext;
use crate::error::OpError;

/// The requested part of a document.
#[derive(Debug, Clone)]
pub struct ViewDocumentRequest {
    /// Its id or name.
    pub document: String,
    /// The first page or sheet.
    pub page: u32,
    /// The first character in the page.
    pub offset: u32,
    /// Maximum number of characters.
    pub max_chars: usize,
}

/// Maximum number of characters of a view.
const MOST_CHARS: usize = 8_000;

/// Part of the text of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentTextReply {
    /// The document.
    pub document: DocumentReply,
    /// The text, with a line before each page.
    pub text: String,
    /// The page to continue with; absent = this was the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page: Option<u32>,
    /// The character to continue with in that page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u32>,
}

/// Returns a part of the text of a document.
///
/// # Errors
/// [`OpError::Denied`] for a caller that may not see texts, [`OpError::NotFound`],
/// [`OpError::Invalid`], [`OpError::Store`].
pub async fn view(
    ctx: &OpContext<'_>,
    request: ViewDocumentRequest,
) -> Result<DocumentTextReply, OpError> {
    check_payloads(ctx)?;
    let ViewDocumentRequest { document, page, offset, max_chars } = request;
    let chars = max_chars.clamp(1, MOST_CHARS);
    let documents = ctx.toolcrib.documents();
    let view = documents.view(ctx.store.owner, &document, page, offset, chars).await?;
    Ok(DocumentTextReply {
        document: view.document.into(),
        text: view.text,
        next_page: view.next.map(|(page, _)| page),
        next_offset: view.next.map(|(_, offset)| offset),
    })
}

pub(super) fn check_payloads(ctx: &OpContext<'_>) -> Result<(), OpError> {
    if ctx.store.shows_payloads {
        Ok(())
    } else {
        Err(OpError::Denied("you may not see the texts of documents".to_owned()))
    }
}
