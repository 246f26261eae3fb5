//! Why rules cannot be taken.

use std::io;
use std::path::PathBuf;

use toolcrib_engine::rules::Fault;

/// Why files of rules cannot be taken, or written.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The file is there and cannot be read.
    #[error("the rules {} cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file cannot be written; it is as it was.
    #[error("the rules {} cannot be written: {error}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// What is in the file is not the form of rules.
    #[error("{}:{line}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong, and what was probably meant.
        what: String,
    },
    /// Rules that can never match, are dangerous, or fail their own examples.
    #[error("{}", lines(.0))]
    Refused(Vec<Fault>),
}

/// One line for each: a person who corrects a file wants to see all of them.
fn lines(faults: &[Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
