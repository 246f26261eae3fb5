//! Executed files: files of a workspace that other programs execute on their own, outside of the
//! sandbox, such as git hooks.
//!
//! `table` is the list for file tools and the sandbox. File tools ask a person before they change
//! such a file, or refuse the change (`file_tools`). After a sandboxed program ends, `watch` checks
//! the files that it left: it renames files that git would execute, and reports the others.

mod file_tools;
mod git_config;
mod git_folder;
mod table;
mod watch;

pub(crate) use file_tools::{assess_change, check_change};
pub(crate) use table::READ_ONLY;
pub use table::{ExecutedFile, OnChange, TABLE};
pub(crate) use watch::{ExecutedFileWatch, note};
