//! Lists the changes that tools made in the workspace.

use toolcrib_builtins::fs::JournalEntry;
use toolcrib_core::RunId;

use super::change::{Change, Direction};
use super::journal::{entries, run_blocking};
use crate::context::OpContext;
use crate::error::OpError;

/// Filter of changes. A change must match every field.
#[derive(Debug, Clone)]
pub struct ListChangesRequest {
    /// Changes that can be undone, or undone ones that can be redone.
    pub direction: Direction,
    /// Only changes of this run of the caller.
    pub run: Option<RunId>,
    /// Only changes of this conversation of the caller.
    pub conversation: Option<String>,
}

impl ListChangesRequest {
    /// Creates a request for all changes in this direction.
    #[must_use]
    pub fn all(direction: Direction) -> Self {
        Self { direction, run: None, conversation: None }
    }

    fn has(&self, entry: &JournalEntry, owner: &str) -> bool {
        if self.run.is_none() && self.conversation.is_none() {
            return true;
        }
        let origin = entry.made_by.as_ref().filter(|origin| origin.owner == owner);
        origin.is_some_and(|origin| {
            self.run.is_none_or(|run| origin.run == Some(run))
                && self.conversation.as_ref().is_none_or(|id| origin.conversation == *id)
        })
    }
}

/// Lists changes, the next one to undo or redo first.
///
/// # Errors
/// [`OpError::Internal`] if the undo journal cannot be read.
pub async fn list(
    ctx: &OpContext<'_>,
    request: ListChangesRequest,
) -> Result<Vec<Change>, OpError> {
    let direction = request.direction;
    let all = run_blocking(ctx, move |toolcrib| entries(toolcrib, direction)).await?;
    let chosen = all.into_iter().filter(|entry| request.has(entry, ctx.store.owner));
    Ok(chosen.map(|entry| Change::new(ctx, entry)).collect())
}
