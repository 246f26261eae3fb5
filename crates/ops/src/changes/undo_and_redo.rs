//! Undoes changes that tools made in the workspace, or redoes undone ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_builtins::fs::{JournalEntry, UndoneEntry};

use super::change::{Change, Direction, one_line};
use super::journal::run_blocking;
use crate::administration::{self, Act};
use crate::context::OpContext;
use crate::error::OpError;

/// The changes to undo or redo.
#[derive(Debug, Clone)]
pub struct TakeRequest {
    /// Undo or redo.
    pub direction: Direction,
    /// Numbers of the listed changes.
    pub ids: Vec<u64>,
    /// Whether later changes are overwritten.
    pub force: bool,
}

/// The undone or redone changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakeReply {
    /// The changes, in the order in which they were undone or redone.
    pub done: Vec<ChangeDone>,
    /// The change that blocks the others, and why.
    pub refused: Option<ChangeRefused>,
}

/// A change that was undone or redone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeDone {
    /// The change.
    pub change: Change,
    /// The changes of files, one line each; empty if no file changed.
    pub did: Vec<String>,
}

/// A change that was not undone or redone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeRefused {
    /// The change.
    pub change: Change,
    /// The reason.
    pub why: String,
}

/// Undoes or redoes exactly these changes, the latest first for an undo and the last undone first
/// for a redo. It stops at a change whose files were changed since. Each of these changes is
/// recorded in the audit, under the call that had made it.
///
/// # Errors
/// [`OpError::Stale`] if one of the changes is no longer in the list; nothing was done in that
/// case. [`OpError::Conflict`] while another process changes the workspace. [`OpError::Internal`]
/// if the journal cannot be used; [`OpError::Unrecorded`] if the changes were made and could not be
/// recorded.
pub async fn take(ctx: &OpContext<'_>, request: TakeRequest) -> Result<TakeReply, OpError> {
    let TakeRequest { direction, ids, force } = request;
    let report = run_blocking(ctx, move |toolcrib| match direction {
        Direction::Undo => toolcrib.undo(&ids, force),
        Direction::Redo => toolcrib.redo(&ids, force),
    });
    let report = report.await?;
    for done in &report.done {
        record(ctx, direction, &done.entry).await?;
    }
    let done = report.done.into_iter().map(|UndoneEntry { entry, did }| ChangeDone {
        change: Change::new(ctx, entry),
        did: did.into_iter().map(|line| one_line(ctx, line)).collect(),
    });
    Ok(TakeReply {
        done: done.collect(),
        refused: report.refused.map(|(entry, why)| ChangeRefused {
            change: Change::new(ctx, entry),
            why: one_line(ctx, why),
        }),
    })
}

async fn record(
    ctx: &OpContext<'_>,
    direction: Direction,
    entry: &JournalEntry,
) -> Result<(), OpError> {
    let name = match direction {
        Direction::Undo => "changes.undo",
        Direction::Redo => "changes.redo",
    };
    let origin = entry.made_by.as_ref().filter(|origin| origin.owner == ctx.store.owner);
    let act = Act {
        name,
        about: entry.summary.clone(),
        call: origin.map(|origin| origin.call),
        run: origin.and_then(|origin| origin.run),
    };
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    administration::record(&ctx.store, secrets, act).await
}
