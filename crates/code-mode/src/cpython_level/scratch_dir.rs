//! Scratch folders for the files of kernels. A folder is removed with its kernel, or, if this
//! process was killed, when the next kernel starts.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Extension of lock files.
const LOCK: &str = "lock";

/// Attempts to create a lock file that a concurrent cleanup removes.
const TRIES: usize = 100;

/// The folder of one kernel, with a lock file beside it, inaccessible to the code, that marks it as
/// used.
#[derive(Debug)]
pub(crate) struct ScratchDir {
    folder: PathBuf,
    lock: tempfile::NamedTempFile,
}

impl ScratchDir {
    /// Creates a folder inside `within`, which is created if necessary. First removes folders whose
    /// lock is free.
    pub(crate) fn new(within: &Path) -> io::Result<Self> {
        fs::create_dir_all(within)?;
        sweep(within);
        for _ in 0..TRIES {
            let lock =
                tempfile::Builder::new().prefix("run-").suffix(".lock").tempfile_in(within)?;
            // Between creating and locking the file, another process's cleanup may remove it as
            // stale.
            if lock.as_file().try_lock().is_ok() && is_named(&lock) {
                let folder = lock.path().with_extension("");
                private(&folder)?;
                return Ok(Self { folder, lock });
            }
        }
        Err(io::Error::other("others remove each lock that is made"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // A later cleanup removes what cannot be removed now, as long as the lock file exists.
        if fs::remove_dir_all(&self.folder).is_err() {
            self.lock.disable_cleanup(true);
        }
    }
}

/// Returns whether a lock file still has its name: only then does the lock exclude others.
fn is_named(lock: &tempfile::NamedTempFile) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (open, named) = (lock.as_file().metadata(), fs::symlink_metadata(lock.path()));
    open.ok().zip(named.ok()).is_some_and(|(open, named)| open.ino() == named.ino())
}

/// Creates a folder for its owner only.
fn private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

/// Removes the folders whose lock is free.
fn sweep(within: &Path) {
    for entry in fs::read_dir(within).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|end| end != LOCK) {
            continue;
        }
        let Ok(lock) = File::open(&path) else { continue };
        if lock.try_lock().is_ok() {
            let folder = path.with_extension("");
            if fs::remove_dir_all(&folder).is_ok() || !folder.exists() {
                // A free lock file without a folder is useless.
                let _ = fs::remove_file(&path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_owner_or_with_the_next_one() {
        let within = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(within.path()).unwrap().count();
        let one = ScratchDir::new(within.path()).unwrap();
        fs::write(one.path().join("file"), "x").unwrap();
        let left = within.path().join("run-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("file"), "x").unwrap();
        fs::write(within.path().join("run-left.lock"), "").unwrap();
        let other = ScratchDir::new(within.path()).unwrap();
        assert!(!left.exists() && one.path().join("file").exists());
        assert_eq!(names(), 4);
        drop((one, other));
        assert_eq!(names(), 0);
    }

    /// Regression: a new lock file was removed by a cleanup before it was locked, so that some of
    /// many kernels started together failed.
    #[test]
    fn folders_that_are_made_together_sweep_no_other_away() {
        let within = tempfile::tempdir().unwrap();
        let made = |_| {
            let path = within.path().to_owned();
            std::thread::spawn(move || (0..50).map(|_| ScratchDir::new(&path).map(drop)).collect())
        };
        let threads: Vec<_> = (0..8).map(made).collect();
        for thread in threads {
            let made: io::Result<Vec<()>> = thread.join().unwrap();
            assert_eq!(made.unwrap().len(), 50);
        }
    }
}
