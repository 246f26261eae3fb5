//! What programs change in the workspace, for the undo journal.
//!
//! - `scan`: the files of the workspace by their metadata.
//! - `former_files`: the contents of small files before a program runs.
//! - `watch`: compares the workspace before and after a program, and records the difference.

mod former_files;
mod scan;
mod watch;

pub(super) use former_files::FormerFiles;
pub(crate) use watch::ProgramChanges;
