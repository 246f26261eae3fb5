//! Previews the effect of an undo or a redo on each file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_builtins::fs::{FileUndo, UndoAct};

use super::change::{Direction, one_line};
use super::journal::{entries, run_blocking};
use super::undo_and_redo::check_count;
use crate::context::OpContext;
use crate::error::OpError;

/// A preview.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PreviewBody")]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
    /// `undo` or `redo`.
    pub direction: Direction,
    /// Numbers of the changes, as they were listed, at most 50.
    #[schemars(length(min = 1, max = 50))]
    pub changes: Vec<u64>,
}

/// The files that an undo or a redo would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PreviewDocument")]
pub struct FilesPreview {
    /// One for each path.
    pub files: Vec<FilePreview>,
}

/// The effect on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileAct {
    /// It is removed.
    Remove,
    /// It is created again.
    Restore,
    /// Its content is replaced.
    Change,
    /// It is moved.
    Move,
}

/// The effect on one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilePreview {
    /// The path below its root.
    pub path: String,
    /// The effect.
    pub act: FileAct,
    /// The former path of a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Unified diff, at most 200 lines; absent for folders, links and moves, for files that are not
    /// text or larger than 10 MB, after 20 files, and for callers that see no contents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Previews the effect of undoing or redoing these changes. It does not check whether a file was
/// changed since: the diff shows the changes that would be lost.
///
/// # Errors
/// [`OpError::Invalid`] for no change or more than 50; [`OpError::Stale`] when one of the changes
/// is not in the list any more; [`OpError::Conflict`] while another process changes the workspace;
/// [`OpError::Internal`] when the journal cannot be read.
pub async fn preview(
    ctx: &OpContext<'_>,
    request: PreviewRequest,
) -> Result<FilesPreview, OpError> {
    let PreviewRequest { direction, changes: ids } = request;
    check_count("changes", ids.len())?;
    let files = run_blocking(ctx, move |toolcrib| {
        let mut chosen = entries(toolcrib, direction)?;
        chosen.retain(|entry| ids.contains(&entry.id));
        toolcrib
            .journal()
            .map_or(Ok(Vec::new()), |(roots, journal)| journal.preview(roots, &chosen))
    });
    let files = files.await?.into_iter().map(|file| file_preview(ctx, file)).collect();
    Ok(FilesPreview { files })
}

fn file_preview(ctx: &OpContext<'_>, file: FileUndo) -> FilePreview {
    let secrets = &ctx.toolcrib.engine().sealing().secrets;
    FilePreview {
        path: one_line(ctx, file.path),
        act: match file.act {
            UndoAct::Remove => FileAct::Remove,
            UndoAct::Restore => FileAct::Restore,
            UndoAct::Change => FileAct::Change,
            UndoAct::Move => FileAct::Move,
        },
        from: file.from.map(|from| one_line(ctx, from)),
        diff: file.diff.filter(|_| ctx.store.shows_payloads).map(|diff| secrets.mask(diff)),
    }
}
