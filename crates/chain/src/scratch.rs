//! Folders for the files of kernels. Each is gone with its kernel, and where this process was killed, with the next kernel of another one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// What the names of locks end in.
const LOCK: &str = "lock";

/// How often a lock is made anew that somebody else has swept away.
const TRIES: usize = 100;

/// A folder of one kernel, with a lock beside it, out of reach of code, that says that somebody uses it.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    lock: tempfile::NamedTempFile,
}

impl Scratch {
    /// A new one in this folder, which is made if it is not there. Those that nobody uses any more are removed first.
    pub(crate) fn new(within: &Path) -> io::Result<Self> {
        fs::create_dir_all(within)?;
        sweep(within);
        for _ in 0..TRIES {
            let lock =
                tempfile::Builder::new().prefix("run-").suffix(".lock").tempfile_in(within)?;
            // Between these two steps another one's sweep may take it for left behind.
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

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is swept later, unless its lock is gone.
        if fs::remove_dir_all(&self.folder).is_err() {
            self.lock.disable_cleanup(true);
        }
    }
}

/// Whether a lock still has its name: nobody else can lock what has it.
fn is_named(lock: &tempfile::NamedTempFile) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (open, named) = (lock.as_file().metadata(), fs::symlink_metadata(lock.path()));
    open.ok().zip(named.ok()).is_some_and(|(open, named)| open.ino() == named.ino())
}

/// A folder for its owner alone.
fn private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

/// Removes the folders whose lock nobody holds.
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
                // Its name would only be in the way.
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
        let one = Scratch::new(within.path()).unwrap();
        fs::write(one.path().join("file"), "x").unwrap();
        let left = within.path().join("run-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("file"), "x").unwrap();
        fs::write(within.path().join("run-left.lock"), "").unwrap();
        let other = Scratch::new(within.path()).unwrap();
        assert!(!left.exists() && one.path().join("file").exists());
        assert_eq!(names(), 4);
        drop((one, other));
        assert_eq!(names(), 0);
    }

    /// A lock that had just been made was swept away before it was locked: of many kernels that began together some could not begin.
    #[test]
    fn folders_that_are_made_together_sweep_no_other_away() {
        let within = tempfile::tempdir().unwrap();
        let made = |_| {
            let path = within.path().to_owned();
            std::thread::spawn(move || (0..50).map(|_| Scratch::new(&path).map(drop)).collect())
        };
        let threads: Vec<_> = (0..8).map(made).collect();
        for thread in threads {
            let made: io::Result<Vec<()>> = thread.join().unwrap();
            assert_eq!(made.unwrap().len(), 50);
        }
    }
}
