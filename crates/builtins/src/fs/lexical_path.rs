//! Lexical path checks: refuses unusable path texts, and splits the others into the steps that the
//! resolver walks.
#![deny(clippy::indexing_slicing)]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::error::FsErrorKind;

/// Longest path text, in bytes (Linux `PATH_MAX`).
const MAX_PATH: usize = 4096;
/// Maximum components of a path after expanding links. Each folder on the path needs one open
/// descriptor while the path is resolved.
pub(super) const MAX_PARTS: usize = 128;
/// Longest component, in bytes (Linux `NAME_MAX`).
const MAX_NAME: usize = 255;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathStep {
    /// Into an entry of the folder.
    Down(OsString),
    /// To the parent folder.
    Up,
}

/// Splits a relative path into steps; a leading separator is ignored.
pub(super) fn path_steps(path: &Path) -> Result<Vec<PathStep>, FsErrorKind> {
    check_text(path.as_os_str())?;
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) if name.len() > MAX_NAME => {
                return Err(FsErrorKind::BadPath("a name in it is longer than 255 bytes"));
            }
            Component::Normal(name) => parts.push(PathStep::Down(name.to_owned())),
            Component::ParentDir => parts.push(PathStep::Up),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    if parts.len() > MAX_PARTS {
        return Err(FsErrorKind::BadPath("it has more than 128 parts"));
    }
    Ok(parts)
}

fn check_text(text: &OsStr) -> Result<(), FsErrorKind> {
    let bytes = text.as_bytes();
    if bytes.is_empty() || bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(FsErrorKind::BadPath("it is empty"));
    }
    if bytes.contains(&0) {
        return Err(FsErrorKind::BadPath("it holds a NUL character"));
    }
    if bytes.len() > MAX_PATH {
        return Err(FsErrorKind::BadPath("it is longer than 4096 bytes"));
    }
    Ok(())
}

/// Returns whether the text ends in a form that only a folder satisfies: `a/`, `a/.`, `a/..`.
pub(super) fn wants_dir(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.") || bytes == b"."
}

/// Removes `.` and `..` lexically; a leading `..` is dropped. For lock keys and messages, never for
/// opening.
pub(crate) fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                out.pop();
            }
            Component::Normal(name) => out.push(name),
            Component::RootDir => out.push("/"),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out
}
