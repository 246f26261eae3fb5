//! Executed files: files of a workspace that other programs execute without being asked to, outside
//! of the sandbox, such as the hooks of git.
//!
//! `table` is the one list for file tools and sandbox. File tools ask a person before such a file
//! is changed, or refuse the change (`file_tools`). After a sandboxed program, the files that it
//! left are looked at (`watch`): what git would execute is set aside, the others are reported.

mod file_tools;
mod git_config;
mod git_folder;
mod table;
mod watch;

pub(crate) use file_tools::{assess_change, check_change};
pub(crate) use table::READ_ONLY;
pub use table::{ExecutedFile, OnChange, TABLE};
pub(crate) use watch::{ExecutedFileWatch, note};
