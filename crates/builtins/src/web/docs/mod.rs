//! Official documentation of programming languages and frameworks.

mod dev_docs;
mod library;

pub(crate) use dev_docs::{DevDocs, Match};
pub(crate) use library::{Library, find};
