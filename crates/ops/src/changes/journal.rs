//! The undo journal waits for other processes, so it is used on a thread for blocking tasks.

use toolcrib_app::Toolcrib;
use toolcrib_builtins::fs::{JournalEntry, JournalError};

use super::change::Direction;
use crate::context::OpContext;
use crate::error::OpError;

pub(super) async fn run_blocking<T: Send + 'static>(
    ctx: &OpContext<'_>,
    work: impl FnOnce(&Toolcrib) -> Result<T, JournalError> + Send + 'static,
) -> Result<T, OpError> {
    let toolcrib = ctx.toolcrib.clone();
    match tokio::task::spawn_blocking(move || work(&toolcrib)).await {
        Ok(done) => done.map_err(journal_error),
        Err(error) => Err(OpError::Internal(format!("using the undo journal failed: {error}"))),
    }
}

/// Returns the entries that can be undone or redone, the next one first.
pub(super) fn entries(
    toolcrib: &Toolcrib,
    direction: Direction,
) -> Result<Vec<JournalEntry>, JournalError> {
    let Some((_, journal)) = toolcrib.journal() else { return Ok(Vec::new()) };
    match direction {
        Direction::Undo => journal.list(),
        Direction::Redo => Ok(journal.undone()?.into_iter().map(|change| change.entry).collect()),
    }
}

fn journal_error(error: JournalError) -> OpError {
    match error {
        JournalError::Busy => {
            OpError::Conflict("another change holds the workspace; try again".to_owned())
        }
        JournalError::Gone(_) => OpError::Stale(error.to_string()),
        error => OpError::Internal(format!("the undo journal cannot be used: {error}")),
    }
}
