//! Changes of a user's file without lost updates: an advisory lock between reading and writing, and
//! an atomic replacement.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Exclusive lock for changing a file. The lock is on the folder of the file, because the file
/// itself is replaced.
#[derive(Debug)]
pub struct LockedFile {
    path: PathBuf,
    /// Closing it releases the lock.
    _folder: File,
}

impl LockedFile {
    /// Waits for the lock of the file's folder, and creates the folder (mode 0700) if it is
    /// missing. The path must name the file itself: a link would be replaced.
    ///
    /// # Errors
    /// A folder that cannot be created, opened or locked.
    pub fn wait(path: PathBuf) -> io::Result<Self> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        let folder = File::open(parent)?;
        folder.lock()?;
        Ok(Self { path, _folder: folder })
    }

    /// Writes a temporary file and renames it into place. A new file gets mode 0600, an existing
    /// one keeps its mode.
    ///
    /// # Errors
    /// The write error; the file is then unchanged.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let staged = self.path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        // A process with the same id that died left this file; it can be removed under the lock.
        let _ = fs::remove_file(&staged);
        let written = self.write(&staged, text);
        if written.is_err() {
            let _ = fs::remove_file(&staged);
        }
        written
    }

    fn write(&self, staged: &Path, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(staged)?;
        if let Ok(old) = fs::metadata(&self.path) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(staged, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_of_the_same_number_left_behind_is_no_hindrance() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let left = folder.path().join(format!(".config.toml.{}.tmp", std::process::id()));
        fs::write(&left, "half").unwrap();
        LockedFile::wait(path.clone()).unwrap().replace("whole").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        assert!(!left.exists());
    }
}
