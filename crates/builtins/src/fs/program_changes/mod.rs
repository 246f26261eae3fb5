//! Changes that programs make in the workspace, for the undo journal.
//!
//! - `scan`: the files of the workspace by their metadata.
//! - `files_before_program`: the contents of small files before a program runs.
//! - `watch`: compares the workspace before and after a program, and records the difference.

mod files_before_program;
mod scan;
mod watch;

pub(super) use files_before_program::FormerFiles;
pub(crate) use watch::ProgramChanges;
