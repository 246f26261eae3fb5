//! Disk space reserved for the outcomes of running calls: a file that is deleted when the disk is
//! full.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::OpenError;

/// Reserved bytes: enough for the outcomes of a few hundred calls with their WAL pages.
const BYTES: u64 = 4 * 1024 * 1024;
const BLOCK: usize = 64 * 1024;
/// Bytes needed to open a database: the log's index and the beginning of the log.
const NEEDED_TO_OPEN: u64 = 64 * 1024;

/// A placeholder file next to the database, deleted when the disk is full and created again when
/// space is available. All processes of the database share it.
pub(crate) struct DiskReserve {
    path: PathBuf,
}

impl DiskReserve {
    pub(crate) fn for_database(database: &Path) -> Self {
        Self { path: companion_path(database, ".reserve") }
    }

    /// Creates the file unless it exists. An error means that the disk has no space for it.
    pub(crate) fn create(&self) -> io::Result<()> {
        if self.exists() {
            return Ok(());
        }
        let made = fill(&self.path);
        if made.is_err() {
            // A partial reserve would only take space from other files.
            let _ = std::fs::remove_file(&self.path);
        }
        made
    }

    /// Returns whether the file exists in its full size.
    pub(crate) fn exists(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|meta| meta.len() >= BYTES)
    }

    /// Deletes the file; `false` if another process has deleted it already.
    pub(crate) fn release(&self) -> bool {
        std::fs::remove_file(&self.path).is_ok()
    }
}

/// Opens a database with `open`. If the disk has no space for that, releases the reserve and tries
/// once more: the owner can then read existing data while freeing space.
pub(crate) fn open_with_reserve<T>(
    database: &Path,
    open: impl Fn() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let named = |error| name_want_of_space(database, error);
    match open().map_err(named) {
        Err(OpenError::Full { .. }) if DiskReserve::for_database(database).release() => {
            open().map_err(named)
        }
        opened => opened,
    }
}

/// Converts the error if the disk is full: SQLite reports a file that it cannot create or extend
/// with codes that do not name the reason.
fn name_want_of_space(database: &Path, error: OpenError) -> OpenError {
    let is_vague = matches!(error, OpenError::Failed { .. } | OpenError::Io { .. });
    if is_vague && free_bytes(database).is_some_and(|free| free < NEEDED_TO_OPEN) {
        return OpenError::Full { path: database.to_owned() };
    }
    error
}

/// Returns free bytes of the file system for this user; `None` if they cannot be read.
#[cfg(unix)]
fn free_bytes(database: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(database.parent()?).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

fn fill(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    if allocate(&file)? {
        return Ok(());
    }
    let block = [0; BLOCK];
    (0..BYTES / BLOCK as u64).try_for_each(|_| file.write_all(&block))
}

/// Allocates the space without writing; `false` if the file system does not support it.
#[cfg(target_os = "linux")]
fn allocate(file: &File) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    match fallocate(file, FallocateFlags::empty(), 0, BYTES) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// Returns the path of a companion file of a database: the database's name with this ending.
pub(crate) fn companion_path(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_given_up_once() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = DiskReserve::for_database(&folder.path().join("store.db"));
        assert!(!reserve.exists() && !reserve.release());
        // A partial file of a process that died.
        std::fs::write(folder.path().join("store.db.reserve"), "x").unwrap();
        for _ in 0..2 {
            reserve.create().unwrap();
            assert!(reserve.exists());
        }
        assert!(reserve.release() && !reserve.release() && !reserve.exists());
    }
}
