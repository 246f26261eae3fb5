//! Snapshot of a path for the undo journal: enough to detect a later change and to restore the
//! former state.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, Stat};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use toolcrib_core::{CancellationToken, canonical_json};

use super::atomic_write::{TempFile, read_only};
use super::bounded_read;
use super::error::FsErrorKind;
use super::resolve::{NodeKind, ResolvedPath};

/// A path inside a root: the root's real path, and the real path below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct RootedPath {
    #[serde(with = "path_text")]
    pub(super) root: PathBuf,
    #[serde(with = "path_text")]
    pub(super) path: PathBuf,
}

impl RootedPath {
    pub(super) fn from_resolved(spot: &ResolvedPath) -> Self {
        Self { root: spot.root.path.clone(), path: spot.real.clone() }
    }

    pub(super) fn sibling(&self, path: PathBuf) -> Self {
        Self { root: self.root.clone(), path }
    }
}

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Snapshot {
    /// A regular file; `sha256` names the blob with its content.
    File { sha256: String, mode: u32 },
    /// A symbolic link.
    Link {
        #[serde(with = "path_text")]
        target: PathBuf,
    },
    /// A folder, without its content.
    Dir { mode: u32 },
}

impl Snapshot {
    /// Creates the snapshot of a regular file with this content.
    pub(super) fn file(content: &[u8], mode: u32) -> Self {
        Self::File { sha256: canonical_json::hex(&Sha256::digest(content)), mode }
    }

    /// Captures the state of a resolved path; `None` if it does not exist.
    pub(super) fn capture(
        spot: &ResolvedPath,
        cancel: &CancellationToken,
    ) -> Result<Option<Self>, FsErrorKind> {
        let Some(node) = spot.node else { return Ok(None) };
        Ok(Some(match node {
            NodeKind::File => {
                let (file, stat) = bounded_read::open_regular_file(spot)?;
                Self::File { sha256: hash(file, cancel, &mut |_| Ok(()))?, mode: mode_of(&stat) }
            }
            NodeKind::Dir => Self::Dir { mode: mode_of(&spot.stat()?) },
            NodeKind::Link => Self::Link { target: link_text(spot)? },
            NodeKind::Special(what) => return Err(FsErrorKind::Special(what)),
        }))
    }

    /// Returns whether both have the same content or link text; modes are not compared.
    pub(super) fn matches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { sha256: a, .. }, Self::File { sha256: b, .. }) => a == b,
            (Self::Link { target: a }, Self::Link { target: b }) => a == b,
            (Self::Dir { .. }, Self::Dir { .. }) => true,
            _ => false,
        }
    }

    /// Restores the state at a resolved path; `content` returns the bytes of a file. An existing
    /// entry is replaced, except that a folder stays.
    pub(super) fn restore(
        &self,
        spot: &ResolvedPath,
        content: impl FnOnce(&str) -> Result<Vec<u8>, FsErrorKind>,
    ) -> Result<(), FsErrorKind> {
        match self {
            Self::File { sha256, mode } => {
                let bytes = content(sha256)?;
                let temp = TempFile::create(spot, None)?.fill(&bytes)?;
                rustix::fs::fchmod(&temp.file, Mode::from_raw_mode(*mode))?;
                temp.commit(spot.name(), true)
            }
            Self::Link { target } => {
                if spot.node.is_some() {
                    rustix::fs::unlinkat(spot.dir(), spot.name(), AtFlags::empty())?;
                }
                rustix::fs::symlinkat(target, spot.dir(), spot.name()).map_err(read_only)
            }
            Self::Dir { .. } if spot.node == Some(NodeKind::Dir) => Ok(()),
            // `restore_mode` sets the folder's own mode last: a read-only folder could not be
            // filled.
            Self::Dir { .. } => {
                let mode = Mode::from_raw_mode(0o700);
                rustix::fs::mkdirat(spot.dir(), spot.name(), mode).map_err(read_only)
            }
        }
    }

    /// Sets the mode of a restored folder once its content is complete.
    pub(super) fn restore_mode(&self, spot: &ResolvedPath) -> Result<(), FsErrorKind> {
        match self {
            Self::Dir { mode } => Ok(rustix::fs::chmodat(
                spot.dir(),
                spot.name(),
                Mode::from_raw_mode(*mode),
                AtFlags::empty(),
            )?),
            Self::File { .. } | Self::Link { .. } => Ok(()),
        }
    }
}

/// Returns the permission bits.
pub(super) fn mode_of(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

/// Returns the target text of the link.
pub(super) fn link_text(spot: &ResolvedPath) -> Result<PathBuf, FsErrorKind> {
    let text = rustix::fs::readlinkat(spot.dir(), spot.name(), Vec::new())?;
    Ok(OsStr::from_bytes(text.as_bytes()).into())
}

/// Hashes all bytes of the reader with SHA-256; passes each chunk to `keep`.
pub(super) fn hash(
    mut from: impl Read,
    cancel: &CancellationToken,
    keep: &mut dyn FnMut(&[u8]) -> Result<(), FsErrorKind>,
) -> Result<String, FsErrorKind> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        if cancel.is_cancelled() {
            return Err(FsErrorKind::Cancelled);
        }
        let n = match from.read(&mut buffer) {
            Ok(0) => return Ok(canonical_json::hex(&hasher.finalize())),
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        let piece = buffer.get(..n).unwrap_or_default();
        hasher.update(piece);
        keep(piece)?;
    }
}

/// Paths in JSON: text, or bytes if they are not UTF-8.
mod path_text {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, s: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => Form::Text(text.to_owned()),
            None => Form::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
        .serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<PathBuf, D::Error> {
        Ok(match Form::deserialize(d)? {
            Form::Text(text) => text.into(),
            Form::Bytes(bytes) => std::ffi::OsString::from_vec(bytes).into(),
        })
    }
}
