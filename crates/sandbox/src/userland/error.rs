//! Why there is no userland, or nothing came of a command for it.

use std::io;
use std::path::{Path, PathBuf};

use super::state::State;
use crate::SandboxError;

/// Why something about the userland did not work. What was there before is as it was, unless it says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UserlandError {
    /// There is none that programs could run in.
    #[error("the Linux userland is {}", .0.words())]
    NotReady(Box<State>),
    /// Another process is changing it.
    #[error("another process is changing the userland at this moment")]
    Busy,
    /// The release has no archive for this machine.
    #[error("{name} {version} is not known for machines of the kind {arch}")]
    NoArchive {
        /// The release.
        name: String,
        /// Its version.
        version: String,
        /// The machine.
        arch: &'static str,
    },
    /// No mirror gave the archive.
    #[error("no mirror gave {what}: {}", .tried.join("; "))]
    NoMirror {
        /// What was wanted.
        what: String,
        /// Each mirror and why not.
        tried: Vec<String>,
    },
    /// The archive cannot be unpacked.
    #[error("the archive cannot be unpacked: {0}")]
    Unpack(String),
    /// A name of a package, or a word to search for, that cannot be one.
    #[error(
        "{0:?} is no name of a package: letters, digits and `+ . _ -`, and a version after `=`, `~`, `<` or `>`"
    )]
    BadName(String),
    /// The package manager failed.
    #[error("{command} failed: {reason}")]
    Packages {
        /// What was run.
        command: String,
        /// The end of what it said.
        reason: String,
    },
    /// A program could not be run in it.
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    /// The system refused something.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl UserlandError {
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
