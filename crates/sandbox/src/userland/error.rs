//! Errors of the userland.

use std::io;
use std::path::{Path, PathBuf};

use super::state::State;
use crate::SandboxError;

/// Why an operation on the userland failed. Unless stated otherwise, the previous state is
/// unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UserlandError {
    /// No userland is ready for use.
    #[error("the Linux userland is {}", .0.message())]
    NotReady(Box<State>),
    /// Another process is changing it.
    #[error("another process is changing the userland")]
    Busy,
    /// The release has no archive for this architecture.
    #[error("{name} {version} has no archive for the architecture {arch}")]
    NoArchive {
        /// Name of the release.
        name: String,
        /// Its version.
        version: String,
        /// The architecture.
        arch: &'static str,
    },
    /// No mirror provided the file.
    #[error("no mirror provided {what}: {}", .tried.join("; "))]
    NoMirror {
        /// The requested file.
        what: String,
        /// Each mirror with its error.
        tried: Vec<String>,
    },
    /// The archive cannot be unpacked.
    #[error("the archive cannot be unpacked: {0}")]
    Unpack(String),
    /// An invalid package name or search term.
    #[error(
        "{0:?} is not a package name: use letters, digits and `+ . _ -`, and a version after `=`, `~`, `<` or `>`"
    )]
    BadName(String),
    /// The package manager failed.
    #[error("{command} failed: {reason}")]
    Packages {
        /// The command.
        command: String,
        /// The end of its output.
        reason: String,
    },
    /// A program could not be run in it.
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    /// A file operation failed.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl UserlandError {
    pub(super) fn io_at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
