//! Undoes changes that tools made in the workspace, or redoes undone ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_builtins::fs::{JournalEntry, UndoneEntry};

use super::change::{Change, Direction, one_line};
use super::journal::run_blocking;
use super::list::{ListChangesRequest, list};
use crate::administration::{self, Act};
use crate::context::OpContext;
use crate::error::OpError;

/// Changes that are taken at once (docs/tools.md: the journal keeps 50).
const MAX_CHANGES: usize = 50;

/// Which changes are undone: either `newest` and `count`, or `changes`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UndoBody")]
#[serde(deny_unknown_fields)]
pub struct UndoRequest {
    /// Number of the newest change, as it was listed: if there is a newer one, nothing is undone.
    #[schemars(range(min = 0))]
    pub newest: Option<u64>,
    /// How many changes, from the newest on, 1 to 50; default 1.
    #[schemars(range(min = 1, max = 50))]
    pub count: Option<usize>,
    /// Numbers of the changes, as they were listed, at most 50; they need not be the newest ones.
    #[schemars(length(min = 1, max = 50))]
    pub changes: Option<Vec<u64>>,
    /// Whether later changes are overwritten.
    #[serde(default)]
    pub force: bool,
}

/// Which undone changes are redone.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RedoBody")]
#[serde(deny_unknown_fields)]
pub struct RedoRequest {
    /// Numbers of the changes, as `GET /changes?undone=true` lists them, at most 50.
    #[schemars(length(min = 1, max = 50))]
    pub changes: Vec<u64>,
    /// Whether later changes are overwritten.
    #[serde(default)]
    pub force: bool,
}

/// The undone changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UndoneDocument")]
pub struct UndoneChanges {
    /// The changes, the newest first.
    pub undone: Vec<ChangeDone>,
    /// The change that blocks the others, and why.
    pub refused: Option<ChangeRefused>,
}

/// The redone changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RedoneDocument")]
pub struct RedoneChanges {
    /// The changes with their new numbers, in the order in which they were made.
    pub redone: Vec<ChangeDone>,
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

/// Undoes exactly these changes, the latest first. It stops at a change whose files were changed
/// since. Each change that was undone is recorded in the audit log, under the call that had made
/// it.
///
/// # Errors
/// [`OpError::Invalid`] for no change or more than 50. [`OpError::Stale`] when one of the changes
/// is not in the list any more: then nothing was done. [`OpError::Conflict`] while another process
/// changes the workspace. [`OpError::Internal`] when the journal cannot be used;
/// [`OpError::Unrecorded`] when it was done and could not be recorded.
pub async fn undo(ctx: &OpContext<'_>, request: UndoRequest) -> Result<UndoneChanges, OpError> {
    let ids = match (request.changes, request.newest) {
        (Some(ids), None) if request.count.is_none() => ids,
        (None, Some(newest)) => {
            let count = request.count.unwrap_or(1);
            check_count("count", count)?;
            newest_changes(ctx, newest, count).await?
        }
        _ => {
            let words = "give either newest, with count, or changes";
            return Err(OpError::Invalid(words.to_owned()));
        }
    };
    let (undone, refused) = take(ctx, Direction::Undo, ids, request.force).await?;
    Ok(UndoneChanges { undone, refused })
}

/// Redoes exactly these undone changes, the last undone first; otherwise like [`undo`].
///
/// # Errors
/// As [`undo`].
pub async fn redo(ctx: &OpContext<'_>, request: RedoRequest) -> Result<RedoneChanges, OpError> {
    let (redone, refused) = take(ctx, Direction::Redo, request.changes, request.force).await?;
    Ok(RedoneChanges { redone, refused })
}

/// Numbers of the newest changes; `newest` is the one that the caller saw as the newest.
async fn newest_changes(
    ctx: &OpContext<'_>,
    newest: u64,
    count: usize,
) -> Result<Vec<u64>, OpError> {
    let listed = list(ctx, ListChangesRequest::all(Direction::Undo)).await?;
    let now = listed.first().map(|change| change.id);
    if now != Some(newest) {
        let words = "the newest change is another one; list them again";
        return Err(OpError::Stale(words.to_owned()).with_facts(json!({"newest": now})));
    }
    Ok(listed.into_iter().take(count).map(|change| change.id).collect())
}

pub(super) fn check_count(field: &str, count: usize) -> Result<(), OpError> {
    if (1..=MAX_CHANGES).contains(&count) {
        return Ok(());
    }
    Err(OpError::Invalid(format!("{field}: 1 to {MAX_CHANGES} changes at once")))
}

async fn take(
    ctx: &OpContext<'_>,
    direction: Direction,
    ids: Vec<u64>,
    force: bool,
) -> Result<(Vec<ChangeDone>, Option<ChangeRefused>), OpError> {
    check_count("changes", ids.len())?;
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
    let refused = report.refused.map(|(entry, why)| ChangeRefused {
        change: Change::new(ctx, entry),
        why: one_line(ctx, why),
    });
    Ok((done.collect(), refused))
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
