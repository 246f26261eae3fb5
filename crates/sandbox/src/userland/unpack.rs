//! Unpacks a system archive (gzip-compressed tar). Each path component is opened separately and no
//! symlink is followed, so that no entry of any archive is created outside the folder.
#![deny(clippy::indexing_slicing)]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fchmod, linkat, mkdirat, openat, statat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;
use tar::{Archive, Entry, EntryType};

/// Maximum unpacked bytes. A complete Alpine with Python has about 100 MB.
pub(super) const MOST_BYTES: u64 = 1 << 30;

/// Maximum number of entries.
const MOST_ENTRIES: usize = 200_000;

/// Maximum path length, equal to the kernel's limit, and maximum number of components.
const LONGEST_PATH: usize = 4096;
/// See [`LONGEST_PATH`].
const DEEPEST_PATH: usize = 128;

/// Why an archive was not unpacked.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnpackError {
    /// An entry that does not belong in a system archive.
    #[error("the entry {name:?} {problem}")]
    Entry { name: String, problem: &'static str },
    /// The data is not an archive, or is truncated.
    #[error("it cannot be read: {0}")]
    Read(io::Error),
    /// A file operation failed.
    #[error("{name:?}: {source}")]
    Write { name: String, source: io::Error },
    /// The archive exceeds a limit.
    #[error("it holds more than {0}")]
    TooMuch(&'static str),
}

/// Unpacks the archive into this empty folder.
pub(super) fn unpack(archive: impl Read, into: &Path) -> Result<(), UnpackError> {
    unpack_bounded(archive, into, MOST_BYTES)
}

fn unpack_bounded(archive: impl Read, into: &Path, most: u64) -> Result<(), UnpackError> {
    let root = openat(CWD, into, FOLDER, Mode::empty());
    let root = root.map_err(|error| write(into.as_os_str())(error.into()))?;
    let bounded = Bounded { inner: MultiGzDecoder::new(archive), left: most };
    let mut archive = Archive::new(bounded);
    let mut entries = 0;
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        entries += 1;
        if entries > MOST_ENTRIES {
            return Err(UnpackError::TooMuch("200,000 entries"));
        }
        one(&root, &mut entry)?;
    }
    // The end of the compressed stream has the checksum.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(unreadable)?;
    if entries == 0 {
        return Err(unreadable(io::Error::other("there is nothing in it")));
    }
    sync(&root);
    Ok(())
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A reader that fails beyond a number of bytes.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| io::Error::other(TooMuch))?;
        Ok(count)
    }
}

/// The marker of [`Bounded`] in an error.
#[derive(Debug, thiserror::Error)]
#[error("too much")]
struct TooMuch;

fn unreadable(error: io::Error) -> UnpackError {
    // The tar reader may have wrapped it.
    let text = error.to_string();
    let is_ours = error.get_ref().is_some_and(|inner| inner.is::<TooMuch>());
    if is_ours || text.ends_with("too much") {
        return UnpackError::TooMuch("1 GiB");
    }
    UnpackError::Read(error)
}

fn write(name: &OsStr) -> impl Fn(io::Error) -> UnpackError {
    let name = name.to_string_lossy().into_owned();
    move |source| UnpackError::Write { name: name.clone(), source }
}

/// Unpacks one entry.
fn one(root: &OwnedFd, entry: &mut Entry<'_, impl Read>) -> Result<(), UnpackError> {
    let kind = entry.header().entry_type();
    if matches!(kind, EntryType::XGlobalHeader) {
        return Ok(());
    }
    let name = entry.path_bytes().into_owned();
    let refused = |problem| {
        let name = String::from_utf8_lossy(&name).into_owned();
        UnpackError::Entry { name, problem }
    };
    let parts = parts(&name).map_err(refused)?;
    let Some((last, folders)) = parts.split_last() else {
        // The root folder itself.
        return if kind.is_dir() { Ok(()) } else { Err(refused("has no name")) };
    };
    let mode = entry.header().mode().map_err(unreadable)?;
    let target = entry.link_name_bytes().map(std::borrow::Cow::into_owned).unwrap_or_default();
    match kind {
        EntryType::Char | EntryType::Block => {
            let own = parts.first().is_some_and(|first| first == "dev");
            return if own { Ok(()) } else { Err(refused("is a device")) };
        }
        EntryType::Directory
        | EntryType::Regular
        | EntryType::Continuous
        | EntryType::Link
        | EntryType::Symlink => {}
        _ => return Err(refused("is neither a file, a folder nor a link")),
    }
    let write = write(OsStr::from_bytes(&name));
    let folder = walk(root, folders, true).map_err(&write)?;
    match kind {
        EntryType::Directory => make_folder(&folder, last, mode).map_err(&write),
        EntryType::Symlink => {
            stays_inside(folders.len(), &target).map_err(refused)?;
            replace(&folder, last).map_err(&write)?;
            symlinkat(OsStr::from_bytes(&target), &folder, last.as_os_str())
                .map_err(|error| write(error.into()))
        }
        EntryType::Link => {
            let target = self::parts(&target).map_err(refused)?;
            hard_link(root, &target, (&folder, last)).map_err(&write)
        }
        _ => {
            let mut file = make_file(&folder, last).map_err(&write)?;
            io::copy(entry, &mut file).map_err(unreadable)?;
            let mode = Mode::from_raw_mode(mode & 0o777);
            fchmod(&file, mode).map_err(|error| write(error.into()))
        }
    }
}

/// Splits a path into components; rejects those that lead up or out.
fn parts(path: &[u8]) -> Result<Vec<OsString>, &'static str> {
    if path.len() > LONGEST_PATH {
        return Err("has too long a path");
    }
    let mut parts = Vec::new();
    for part in Path::new(OsStr::from_bytes(path)).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_owned()),
            Component::CurDir => {}
            Component::ParentDir => return Err("leads up by `..`"),
            Component::RootDir | Component::Prefix(_) => return Err("has an absolute path"),
        }
    }
    if parts.len() > DEEPEST_PATH { Err("has too long a path") } else { Ok(parts) }
}

/// Checks that a symlink's target stays inside: absolute from `/`, or relative without leaving the
/// root.
fn stays_inside(depth: usize, target: &[u8]) -> Result<(), &'static str> {
    if target.is_empty() || target.len() > LONGEST_PATH {
        return Err("is a link to nowhere");
    }
    let mut depth = depth;
    for part in Path::new(OsStr::from_bytes(target)).components() {
        depth = match part {
            Component::Normal(_) => depth.saturating_add(1),
            Component::CurDir => depth,
            Component::RootDir | Component::Prefix(_) => 0,
            Component::ParentDir => depth.checked_sub(1).ok_or("is a link that leads out")?,
        };
    }
    Ok(())
}

/// Opens a folder step by step, creating missing ones if requested.
fn walk(root: &OwnedFd, parts: &[OsString], makes: bool) -> io::Result<OwnedFd> {
    let mut at = rustix::io::dup(root)?;
    for part in parts {
        at = match openat(&at, part.as_os_str(), FOLDER, Mode::empty()) {
            Err(Errno::NOENT) if makes => {
                mkdirat(&at, part.as_os_str(), Mode::from_raw_mode(0o755))?;
                openat(&at, part.as_os_str(), FOLDER, Mode::empty())?
            }
            opened => opened?,
        };
    }
    Ok(at)
}

fn make_folder(folder: &OwnedFd, name: &OsStr, mode: u32) -> io::Result<()> {
    match mkdirat(folder, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    // A symlink in its place is not followed. The owner needs full permissions to fill and to
    // remove it.
    let made = openat(folder, name, FOLDER, Mode::empty())?;
    Ok(fchmod(made, Mode::from_raw_mode(mode & 0o1777 | 0o700))?)
}

fn make_file(folder: &OwnedFd, name: &OsStr) -> io::Result<File> {
    replace(folder, name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?))
}

fn hard_link(
    root: &OwnedFd,
    target: &[OsString],
    (folder, name): (&OwnedFd, &OsStr),
) -> io::Result<()> {
    let Some((last, folders)) = target.split_last() else {
        return Err(io::Error::other("a link to the root itself"));
    };
    let from = walk(root, folders, false)?;
    let kind = statat(&from, last.as_os_str(), AtFlags::SYMLINK_NOFOLLOW)?.st_mode;
    if FileType::from_raw_mode(kind) != FileType::RegularFile {
        return Err(io::Error::other("a hard link to something else than a file"));
    }
    replace(folder, name)?;
    Ok(linkat(from, last.as_os_str(), folder, name, AtFlags::empty())?)
}

/// Removes an entry of this name, so that a later entry replaces an earlier one. A folder is an
/// error.
fn replace(folder: impl AsFd, name: &OsStr) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Flushes everything to disk before the state is stored.
#[cfg(target_os = "linux")]
fn sync(root: &OwnedFd) {
    // A file system without syncfs is no reason to fail.
    let _ = rustix::fs::syncfs(root);
}

#[cfg(not(target_os = "linux"))]
fn sync(_: &OwnedFd) {
    rustix::fs::sync();
}

#[cfg(test)]
#[path = "unpack_tests.rs"]
mod tests;
