//! Undoes the last change of a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::{ListReply, writer};
use crate::context::OpContext;
use crate::error::OpError;

/// Whose change.
#[derive(Debug, Clone, Default)]
pub struct UndoListRequest {
    /// Name of the list; `None` = the one that was changed last.
    pub name: Option<String>,
}

/// A change was undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoneList {
    /// The lists that changed, as they are now. Undoing a rename changes two.
    pub lists: Vec<ListReply>,
    /// Names of lists that are gone again, in lower case.
    pub gone: Vec<String>,
}

/// Takes back the last change that was not taken back. Changes are kept for 30 days, the last 300
/// at most.
///
/// # Errors
/// [`OpError::Gone`] if there is none, [`OpError::Store`].
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
