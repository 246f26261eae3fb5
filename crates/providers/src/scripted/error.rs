//! Errors of reading a script.

use std::io;
use std::path::PathBuf;

/// An unusable script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a valid script.
    #[error("{file}:{line}: {message}")]
    Invalid {
        /// Name of the file.
        file: String,
        /// Line, from 1; 0 for a script built in code.
        line: u64,
        /// The problem, and how to fix it.
        message: String,
    },
}
