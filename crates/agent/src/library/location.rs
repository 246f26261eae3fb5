//! Origins of library items: scope, file, and problems.

use std::fmt;
use std::path::{Path, PathBuf};

/// Scope of a folder. Later scopes take precedence: a project's agent replaces a user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Skills that the user has accepted from an MCP server. Untrusted text.
    Server,
    /// The user's own, for every workspace.
    User,
    /// The workspace's.
    Project,
}

/// Origin of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Built into the program; cannot be changed.
    BuiltIn,
    /// A file of a folder.
    File {
        /// Scope of the folder.
        scope: Scope,
        /// The file.
        path: PathBuf,
    },
}

impl Location {
    /// Returns the file; `None` if the item is built in.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::BuiltIn => None,
            Self::File { path, .. } => Some(path),
        }
    }

    /// Returns the scope; `None` if the item is built in.
    #[must_use]
    pub fn scope(&self) -> Option<Scope> {
        match self {
            Self::BuiltIn => None,
            Self::File { scope, .. } => Some(*scope),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File { path, .. } => path.display().fmt(f),
        }
    }
}

/// A folder to read. A missing folder is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its scope.
    pub scope: Scope,
    /// The folder.
    pub path: PathBuf,
}

/// The folders of a library, each list in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// Whether the workspace is trusted: only then may its items replace built-in items or the
    /// user's own.
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

/// A problem of a file or folder, for its author.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct Problem {
    /// The file or folder; for built-in items a name such as `built-in kits/careful_edit.yaml`.
    pub path: PathBuf,
    /// The problem, as a sentence fragment.
    pub message: String,
}

impl Problem {
    /// Creates a problem of this file.
    pub(super) fn new(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}
