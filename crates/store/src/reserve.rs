//! Room on the disk that is kept for the outcomes of running calls (reliability D1).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes that are kept: outcomes of some hundred calls with their pages of the log.
const BYTES: u64 = 4 * 1024 * 1024;
const BLOCK: usize = 64 * 1024;

/// A file of nothing beside the database, given up when the disk is full and made again when there is room. Processes share it.
pub(crate) struct Reserve {
    path: PathBuf,
}

impl Reserve {
    pub(crate) fn of(database: &Path) -> Self {
        Self { path: beside(database, ".reserve") }
    }

    /// Makes it, unless it is there. An error means that there is no room for it.
    pub(crate) fn make(&self) -> io::Result<()> {
        if self.is_there() {
            return Ok(());
        }
        let made = fill(&self.path);
        if made.is_err() {
            // Half a reserve would only take the room of others.
            let _ = std::fs::remove_file(&self.path);
        }
        made
    }

    /// Whether it is there, whole.
    pub(crate) fn is_there(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|meta| meta.len() >= BYTES)
    }

    /// Frees the room; `false` = somebody has done so before.
    pub(crate) fn give_up(&self) -> bool {
        std::fs::remove_file(&self.path).is_ok()
    }
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

/// Takes the room without writing into it; `false` = this file system cannot.
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

/// The path of a file that belongs to a database: its name with this ending.
pub(crate) fn beside(database: &Path, ending: &str) -> PathBuf {
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
        let reserve = Reserve::of(&folder.path().join("store.db"));
        assert!(!reserve.is_there() && !reserve.give_up());
        // Left behind half by somebody who died.
        std::fs::write(folder.path().join("store.db.reserve"), "x").unwrap();
        for _ in 0..2 {
            reserve.make().unwrap();
            assert!(reserve.is_there());
        }
        assert!(reserve.give_up() && !reserve.give_up() && !reserve.is_there());
    }
}
