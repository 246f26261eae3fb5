//! Official documentation of programming languages and frameworks.

mod dev_docs;
mod installed;
mod library;

pub(crate) use dev_docs::{DevDocs, Match};
pub(crate) use installed::InstalledDocs;
pub(crate) use library::{Library, find};
