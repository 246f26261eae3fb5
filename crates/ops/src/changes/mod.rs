//! Operations on changes that tools made in the workspace: list, preview, undo, redo.

mod change;
mod journal;
mod list;
mod preview;
mod undo_and_redo;

pub use change::{Change, Direction};
pub use list::{ListChangesRequest, list};
pub use preview::{FileAct, FilePreview, FilesPreview, PreviewRequest, preview};
pub use undo_and_redo::{
    ChangeDone, ChangeRefused, RedoRequest, RedoneChanges, UndoRequest, UndoneChanges, redo, undo,
};
