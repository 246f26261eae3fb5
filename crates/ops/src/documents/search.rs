//! Searches documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::OpContext;
use crate::error::OpError;

/// A search in documents.
#[derive(Debug, Clone)]
pub struct SearchDocumentsRequest {
    /// The query, in words.
    pub query: String,
    /// Maximum number of passages.
    pub limit: usize,
}

/// Maximum number of passages of a search.
const MOST: usize = 50;

/// A matching passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Passage")]
pub struct PassageReply {
    /// Id of the document.
    pub document: String,
    /// Its name.
    pub name: String,
    /// The page or sheet, from 1; 0 = the document has none.
    pub page: u32,
    /// The first character in the page.
    pub offset: u32,
    /// The text.
    pub text: String,
}

/// Returns the best matching passages, by words and meaning.
///
/// # Errors
/// [`OpError::Denied`] for a caller that may not see texts, [`OpError::Invalid`] without words,
/// [`OpError::Store`].
pub async fn search(
    ctx: &OpContext<'_>,
    request: SearchDocumentsRequest,
) -> Result<Vec<PassageReply>, OpError> {
    super::view::check_payloads(ctx)?;
    let documents = ctx.toolcrib.documents();
    let limit = request.limit.clamp(1, MOST);
    let found = documents.search(ctx.store.owner, &request.query, limit).await?;
    let reply = found.into_iter().map(|(document, passage)| PassageReply {
        document: document.id,
        name: document.name,
        page: passage.page,
        offset: passage.offset,
        text: passage.text,
    });
    Ok(reply.collect())
}
