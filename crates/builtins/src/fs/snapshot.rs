//! What stands at a place, as the journal keeps it: enough to tell whether it changed, and to put it back.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, Stat};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use toolcrib_core::{CancellationToken, canonical};

use super::beneath::{Node, Spot};
use super::error::Fault;
use super::read;
use super::write::{Temp, read_only};

/// A place: a root by its real path, and the real path below it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Place {
    #[serde(with = "path_text")]
    pub(super) root: PathBuf,
    #[serde(with = "path_text")]
    pub(super) path: PathBuf,
}

impl Place {
    pub(super) fn of(spot: &Spot) -> Self {
        Self { root: spot.root.path.clone(), path: spot.real.clone() }
    }

    pub(super) fn sibling(&self, path: PathBuf) -> Self {
        Self { root: self.root.clone(), path }
    }
}

/// What stands at a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Snapshot {
    /// A plain file; its content is the blob of this name.
    File { sha256: String, mode: u32 },
    /// A symbolic link.
    Link {
        #[serde(with = "path_text")]
        target: PathBuf,
    },
    /// A folder, without what is in it.
    Dir { mode: u32 },
}

impl Snapshot {
    /// A plain file with this content.
    pub(super) fn file(content: &[u8], mode: u32) -> Self {
        Self::File { sha256: canonical::hex(&Sha256::digest(content)), mode }
    }

    /// What stands at the spot; `None` = nothing.
    pub(super) fn take(spot: &Spot, cancel: &CancellationToken) -> Result<Option<Self>, Fault> {
        let Some(node) = spot.node else { return Ok(None) };
        Ok(Some(match node {
            Node::File => {
                let (file, stat) = read::open_at(spot)?;
                Self::File { sha256: hash(file, cancel, &mut |_| Ok(()))?, mode: mode_of(&stat) }
            }
            Node::Dir => Self::Dir { mode: mode_of(&spot.stat()?) },
            Node::Link => Self::Link { target: link_text(spot)? },
            Node::Special(what) => return Err(Fault::Special(what)),
        }))
    }

    /// Whether the two mean the same: content of files, text of links; modes are not compared.
    pub(super) fn matches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { sha256: a, .. }, Self::File { sha256: b, .. }) => a == b,
            (Self::Link { target: a }, Self::Link { target: b }) => a == b,
            (Self::Dir { .. }, Self::Dir { .. }) => true,
            _ => false,
        }
    }

    /// Puts it where the spot stands; `content` gives the bytes of a file. What stands there is replaced, a folder only by itself.
    pub(super) fn restore(
        &self,
        spot: &Spot,
        content: impl FnOnce(&str) -> Result<Vec<u8>, Fault>,
    ) -> Result<(), Fault> {
        match self {
            Self::File { sha256, mode } => {
                let bytes = content(sha256)?;
                let temp = Temp::create(spot, None)?.fill(&bytes)?;
                rustix::fs::fchmod(&temp.file, Mode::from_raw_mode(*mode))?;
                temp.commit(spot.name(), true)
            }
            Self::Link { target } => {
                if spot.node.is_some() {
                    rustix::fs::unlinkat(spot.dir(), spot.name(), AtFlags::empty())?;
                }
                rustix::fs::symlinkat(target, spot.dir(), spot.name()).map_err(read_only)
            }
            Self::Dir { .. } if spot.node == Some(Node::Dir) => Ok(()),
            // Its own mode comes last, by `restore_mode`: a read-only folder could not be filled again.
            Self::Dir { .. } => {
                let mode = Mode::from_raw_mode(0o700);
                rustix::fs::mkdirat(spot.dir(), spot.name(), mode).map_err(read_only)
            }
        }
    }

    /// Gives a restored folder its mode back, once everything in it is there again.
    pub(super) fn restore_mode(&self, spot: &Spot) -> Result<(), Fault> {
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

/// The permission bits.
pub(super) fn mode_of(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

/// The text of the link at a spot.
pub(super) fn link_text(spot: &Spot) -> Result<PathBuf, Fault> {
    let text = rustix::fs::readlinkat(spot.dir(), spot.name(), Vec::new())?;
    Ok(OsStr::from_bytes(text.as_bytes()).into())
}

/// SHA-256 of everything that can be read, each piece shown to `keep`.
pub(super) fn hash(
    mut from: impl Read,
    cancel: &CancellationToken,
    keep: &mut dyn FnMut(&[u8]) -> Result<(), Fault>,
) -> Result<String, Fault> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        if cancel.is_cancelled() {
            return Err(Fault::Cancelled);
        }
        let n = match from.read(&mut buffer) {
            Ok(0) => return Ok(canonical::hex(&hasher.finalize())),
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        let piece = buffer.get(..n).unwrap_or_default();
        hasher.update(piece);
        keep(piece)?;
    }
}

/// Paths in JSON: text, or bytes where they are no UTF-8.
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
