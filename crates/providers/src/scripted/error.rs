//! Why a script cannot be played.

use std::io;
use std::path::PathBuf;

/// A script that cannot be played. Nothing of it is.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no script.
    #[error("{file}:{line}: {message}")]
    Invalid {
        /// Name of the file.
        file: String,
        /// Line, from 1; 0 = a script made in code.
        line: u64,
        /// What is wrong and what to write instead.
        message: String,
    },
}
