//! The versions of a draft.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::DraftReply;
use crate::context::OpContext;
use crate::error::OpError;

/// The draft whose versions are requested.
#[derive(Debug, Clone)]
pub struct DraftHistoryRequest {
    /// Its id.
    pub draft: String,
}

/// A version of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DraftVersion")]
pub struct DraftVersionReply {
    /// `made`, `changed`, `sending`, `ended`, `discarded` or `left behind`.
    pub change: String,
    /// Milliseconds since 1970.
    pub at: i64,
    /// The person, token or agent that made the change.
    pub by: String,
    /// The run that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The draft after the change.
    pub draft: DraftReply,
}

/// Returns the stored versions of a draft, the newest first.
///
/// # Errors
/// [`OpError::NotFound`], [`OpError::Store`].
pub async fn history(
    ctx: &OpContext<'_>,
    request: DraftHistoryRequest,
) -> Result<Vec<DraftVersionReply>, OpError> {
    let versions = ctx.toolcrib.drafts().history(ctx.store.owner, &request.draft).await?;
    let reply = |one: toolcrib_assistant::draft::DraftVersion| DraftVersionReply {
        change: one.note,
        at: one.at,
        by: one.author.by,
        run: one.author.run.map(|run| run.to_string()),
        draft: DraftReply::new(&ctx.store, one.draft),
    };
    Ok(versions.into_iter().map(reply).collect())
}
