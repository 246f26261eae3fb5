//! Path texts before any file is looked at: what is refused outright, and the parts that a resolver walks.
#![deny(clippy::indexing_slicing)]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::error::Fault;

/// Longest path text, in bytes (Linux `PATH_MAX`).
const MAX_PATH: usize = 4096;
/// Most parts of a path, links expanded; each folder on the way is one open descriptor while a path is resolved.
pub(super) const MAX_PARTS: usize = 128;
/// Longest name of one part, in bytes (Linux `NAME_MAX`).
const MAX_NAME: usize = 255;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Into an entry of the folder.
    Down(OsString),
    /// To the folder above.
    Up,
}

/// The steps of a relative path; the separator at its start, if any, is not looked at.
pub(super) fn parts(path: &Path) -> Result<Vec<Part>, Fault> {
    check_text(path.as_os_str())?;
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) if name.len() > MAX_NAME => {
                return Err(Fault::BadPath("a name in it is longer than 255 bytes"));
            }
            Component::Normal(name) => parts.push(Part::Down(name.to_owned())),
            Component::ParentDir => parts.push(Part::Up),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    if parts.len() > MAX_PARTS {
        return Err(Fault::BadPath("it has more than 128 parts"));
    }
    Ok(parts)
}

fn check_text(text: &OsStr) -> Result<(), Fault> {
    let bytes = text.as_bytes();
    if bytes.is_empty() || bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Fault::BadPath("it is empty"));
    }
    if bytes.contains(&0) {
        return Err(Fault::BadPath("it holds a NUL character"));
    }
    if bytes.len() > MAX_PATH {
        return Err(Fault::BadPath("it is longer than 4096 bytes"));
    }
    Ok(())
}

/// Whether the text ends in a way that only a folder satisfies: `a/`, `a/.`, `a/..`.
pub(super) fn wants_dir(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.") || bytes == b"."
}

/// The path with `.` and `..` taken out by text alone; `..` at the start is dropped. For lock keys and messages, never for opening.
pub(super) fn normalise(path: &Path) -> PathBuf {
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
