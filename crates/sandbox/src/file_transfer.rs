//! Transfers files into and out of a sandbox: only within the policy's paths, and never through
//! symlinks.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::SandboxError;
use crate::policy::Policy;

/// Writes a file and replaces an existing one.
pub(crate) fn put(policy: &Policy, path: &Path, bytes: &[u8]) -> Result<(), SandboxError> {
    let write = || -> io::Result<()> {
        let (root, rest) = within(policy, policy.writable.iter(), path)?;
        File::from(open(&root, &rest, true)?).write_all(bytes)
    };
    write().map_err(|source| SandboxError::Path { path: path.to_owned(), source })
}

/// Reads a file of at most `most` bytes.
pub(crate) fn get(policy: &Policy, path: &Path, most: usize) -> Result<Vec<u8>, SandboxError> {
    let read = || -> io::Result<Vec<u8>> {
        let roots = policy.writable.iter().chain(&policy.readable);
        let (root, rest) = within(policy, roots, path)?;
        let file = File::from(open(&root, &rest, false)?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
        }
        let mut bytes = Vec::new();
        file.take(most as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too long"));
        }
        Ok(bytes)
    };
    read().map_err(|source| SandboxError::Path { path: path.to_owned(), source })
}

/// Returns the policy path that contains the file, and the relative path from there. Inner paths
/// take precedence, as for programs.
fn within<'a>(
    policy: &Policy,
    roots: impl Iterator<Item = &'a PathBuf>,
    path: &Path,
) -> io::Result<(PathBuf, PathBuf)> {
    let refused =
        || io::Error::new(io::ErrorKind::PermissionDenied, "the policy does not allow it");
    if !path.is_absolute() {
        return Err(refused());
    }
    let real = |root: &PathBuf| root.canonicalize().ok();
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok()).ok_or_else(refused)?;
    let path = parent.join(path.file_name().ok_or_else(refused)?);
    let depth = |root: &PathBuf| root.components().count();
    let root = roots.filter_map(real).filter(|root| path.starts_with(root)).max_by_key(depth);
    let root = root.ok_or_else(refused)?;
    let narrower = |other: &PathBuf| path.starts_with(other) && depth(other) > depth(&root);
    let denied = policy
        .denied
        .iter()
        .filter_map(real)
        .any(|other| path.starts_with(&other) && depth(&other) >= depth(&root));
    if denied
        || policy
            .readable
            .iter()
            .chain(&policy.read_only)
            .filter_map(real)
            .any(|other| narrower(&other))
    {
        return Err(refused());
    }
    let rest = path.strip_prefix(&root).map(Path::to_owned).map_err(|_| refused())?;
    Ok((root, rest))
}

/// Opens a file without leaving the root and without following symlinks.
#[cfg(target_os = "linux")]
fn open(root: &Path, rest: &Path, writes: bool) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let root = super::linux::open_no_symlinks(root)?;
    // Opening a FIFO must not wait for its other end.
    let own = OFlags::CLOEXEC | OFlags::NONBLOCK;
    let (flags, mode) = if writes {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        (own | flags, Mode::from_raw_mode(0o644))
    } else {
        (own | OFlags::RDONLY, Mode::empty())
    };
    let rest = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
    Ok(openat2(root, rest, flags, mode, resolve)?)
}

#[cfg(not(target_os = "linux"))]
fn open(_: &Path, _: &Path, _: bool) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}
