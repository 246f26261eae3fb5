//! Errors of rule files.

use std::io;
use std::path::PathBuf;

use toolcrib_engine::rules::RuleError;

/// The reason why rule files cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The file exists but cannot be read.
    #[error("the rules {} cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The file cannot be written; it is unchanged.
    #[error("the rules {} cannot be written: {error}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The file is not a valid rule file.
    #[error("{}:{line}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The problem, with a suggestion where possible.
        what: String,
    },
    /// Rules that can never match, are dangerous, or fail their own examples.
    #[error("{}", lines(.0))]
    Refused(Vec<RuleError>),
}

/// Formats one line per problem, so that an author can fix all of them at once.
fn lines(faults: &[RuleError]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
