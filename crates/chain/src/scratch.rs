//! Folders for the files of kernels. Each is gone with its kernel, and where this process was killed, with the next kernel of another one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// What the names of locks end in.
const LOCK: &str = "lock";

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
        let name = tempfile::Builder::new().prefix("run-").suffix(".lock").tempfile_in(within)?;
        name.as_file().try_lock()?;
        let folder = name.path().with_extension("");
        private(&folder)?;
        Ok(Self { folder, lock: name })
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
}
