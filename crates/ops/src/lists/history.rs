//! The last changes of a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::OpContext;
use crate::error::OpError;

/// The requested changes.
#[derive(Debug, Clone, Default)]
pub struct ListHistoryRequest {
    /// Name of the list; `None` selects the one that was changed last.
    pub name: Option<String>,
    /// The first day or time; `None` selects all stored changes.
    pub since: Option<String>,
}

/// The last changes of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListHistory {
    /// Its name.
    pub list: String,
    /// The changes, newest first.
    pub changes: Vec<ListHistoryReply>,
}

/// A change of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListHistoryReply {
    /// Milliseconds since 1970.
    pub at: i64,
    /// The change in words.
    pub change: String,
    /// The person, token or agent that made it.
    pub by: String,
    /// The run that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Returns the last changes of a list, even of a deleted one.
///
/// # Errors
/// [`OpError::Denied`] for a caller that may not see texts, [`OpError::NotFound`],
/// [`OpError::Invalid`], [`OpError::Store`].
pub async fn history(
    ctx: &OpContext<'_>,
    request: ListHistoryRequest,
) -> Result<ListHistory, OpError> {
    if !ctx.store.shows_payloads {
        return Err(OpError::Denied("you may not see the texts of lists".to_owned()));
    }
    let (name, since) = (request.name.as_deref(), request.since.as_deref());
    let (list, entries, _) = ctx.toolcrib.lists().history(ctx.store.owner, name, since).await?;
    let changes = entries.into_iter().map(|entry| ListHistoryReply {
        at: entry.at,
        change: entry.note,
        by: entry.author.by,
        run: entry.author.run.map(|run| run.to_string()),
    });
    Ok(ListHistory { list, changes: changes.collect() })
}
