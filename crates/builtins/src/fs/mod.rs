//! File access inside roots: opens confined by the kernel, atomic writes, bounded walks, and the
//! undo journal.
//!
//! Everything works on descriptors: a path is resolved once, below a root that was opened once. All
//! later operations use the descriptor of the parent folder and one name. No path text is resolved
//! twice.

mod atomic_write;
pub mod bounded_read;
pub(crate) mod call_denials;
mod dir_tree;
pub mod error;
mod former_content;
mod gitignore;
mod lexical_path;
mod multi_file_edit;
pub mod parallel_walk;
mod program_changes;
mod redo;
pub mod resolve;
mod reversal;
pub mod roots;
mod snapshot;
mod transaction;
mod undo;
pub mod undo_journal;
mod undo_preview;
pub mod walk;
pub mod workspace;

pub(crate) use lexical_path::normalise;
pub(crate) use program_changes::ProgramChanges;

pub use error::{FsError, FsErrorKind};
pub use redo::UndoneChange;
pub use resolve::{LinkPolicy, NodeKind, OpenMethod, ResolvedPath};
pub use roots::{RootError, Roots};
pub use undo::{UndoReport, UndoneEntry};
pub use undo_journal::{ChangeOrigin, Entry as JournalEntry, Journal, JournalError};
pub use undo_preview::{FileUndo, UndoAct};
pub use workspace::Workspace;
