//! Where things of the library come from, and what is wrong with them.

use std::fmt;
use std::path::{Path, PathBuf};

/// Whose folder it is. Later ones come first: an agent of the project replaces one of the user (issue: agents as files).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// An MCP server's: skills that the person has taken over from it. Words of a stranger.
    Server,
    /// The person's own, for every workspace.
    User,
    /// The workspace's.
    Project,
}

/// Where one thing comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Shipped in the program; cannot be changed.
    BuiltIn,
    /// A file of a folder.
    File {
        /// Whose folder.
        scope: Scope,
        /// The file.
        path: PathBuf,
    },
}

impl Place {
    /// The file; `None` = shipped in the program.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::BuiltIn => None,
            Self::File { path, .. } => Some(path),
        }
    }

    /// Whose it is; `None` = shipped in the program.
    #[must_use]
    pub fn scope(&self) -> Option<Scope> {
        match self {
            Self::BuiltIn => None,
            Self::File { scope, .. } => Some(*scope),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File { path, .. } => path.display().fmt(f),
        }
    }
}

/// A folder that is read. One that does not exist is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Whose it is.
    pub scope: Scope,
    /// The folder.
    pub path: PathBuf,
}

/// The folders that a library is read from, each list in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// Whether the workspace is trusted: only then may what it brings along take the place of what is built in or the person's own.
    pub trusted: bool,
    /// Agents: `NAME.toml`, `NAME.md`.
    pub agents: Vec<Folder>,
    /// Skills: `NAME/SKILL.md`.
    pub skills: Vec<Folder>,
    /// Kits: `*.yaml`, `*.yml`.
    pub kits: Vec<Folder>,
    /// Guides: `*.yaml`, `*.yml`.
    pub guides: Vec<Folder>,
}

/// What is wrong with a file or folder, for the person who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct Problem {
    /// The file or folder; for things shipped in the program, their name such as `built-in kits/careful_edit.yaml`.
    pub path: PathBuf,
    /// What is wrong, as a fragment.
    pub message: String,
}

impl Problem {
    /// A problem of this file.
    pub(super) fn new(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}
