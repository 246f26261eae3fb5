//! Changes a file of a person so that nothing is lost: nobody else changes it between the reading and the writing, and it is put into its
//! place whole.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A file that nobody else changes in this way as long as this value lives. Its folder is locked, for the file itself is replaced.
#[derive(Debug)]
pub struct LockedFile {
    path: PathBuf,
    /// Unlocked when it is closed.
    _folder: File,
}

impl LockedFile {
    /// Waits until nobody else changes a file of this folder, which is made if it is not there (mode 0700). The path is that of the file
    /// itself: a link would be replaced.
    ///
    /// # Errors
    /// A folder that cannot be made, opened or locked.
    pub fn wait(path: PathBuf) -> io::Result<Self> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        let folder = File::open(parent)?;
        folder.lock()?;
        Ok(Self { path, _folder: folder })
    }

    /// Writes beside the file and moves it into its place. A new file is for its owner alone (mode 0600), an old one keeps its mode.
    ///
    /// # Errors
    /// What cannot be written; the file is then as it was.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let staged = self.path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        // What a process of the same number left behind; nobody else is at work here.
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
