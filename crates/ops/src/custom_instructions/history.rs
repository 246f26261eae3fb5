//! The last changes of the person's part of the system prompt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::OpContext;
use crate::error::OpError;

/// The changes of the owner's text.
#[derive(Debug, Clone, Copy, Default)]
pub struct InstructionsHistoryRequest;

/// A change of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "InstructionsChange")]
pub struct InstructionsChangeReply {
    /// Milliseconds since 1970.
    pub at: i64,
    /// The kind of the change.
    pub change: String,
    /// The person or token that made it.
    pub by: String,
    /// The previous text; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// Returns the last changes, newest first.
///
/// # Errors
/// [`OpError::Denied`] for a caller that may not see texts, [`OpError::Store`].
pub async fn history(
    ctx: &OpContext<'_>,
    _: InstructionsHistoryRequest,
) -> Result<Vec<InstructionsChangeReply>, OpError> {
    super::show::check_payloads(ctx)?;
    let changes = ctx.toolcrib.custom_instructions().history(ctx.store.owner).await?;
    let reply = changes.into_iter().map(|change| InstructionsChangeReply {
        at: change.at,
        change: change.note,
        by: change.author.by,
        before: change.before,
    });
    Ok(reply.collect())
}
