//! Undoes the last change of a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::{ListReply, writer};
use crate::context::OpContext;
use crate::error::OpError;

/// The list whose last change is undone.
#[derive(Debug, Clone, Default)]
pub struct UndoListRequest {
    /// Name of the list; `None` selects the one that was changed last.
    pub name: Option<String>,
}

/// The undone change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoneList {
    /// The changed lists in their current state. Undoing a rename changes two.
    pub lists: Vec<ListReply>,
    /// Names of lists that no longer exist, in lower case.
    pub gone: Vec<String>,
}

/// Undoes the last change that was not undone yet. Changes are stored for 30 days, at most the last
/// 300.
///
/// # Errors
/// [`OpError::Gone`] if there is no such change, [`OpError::Store`].
pub async fn undo(ctx: &OpContext<'_>, request: UndoListRequest) -> Result<UndoneList, OpError> {
    let undone = ctx.toolcrib.lists().undo(&writer(&ctx.store), request.name.as_deref()).await?;
    let mut reply = UndoneList { lists: Vec::new(), gone: Vec::new() };
    for (key, list) in undone {
        match list {
            Some(list) => reply.lists.push(ListReply::new(&ctx.store, list)),
            None => reply.gone.push(key),
        }
    }
    Ok(reply)
}
