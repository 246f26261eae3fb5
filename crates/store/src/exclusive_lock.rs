//! The lock that prevents a second daemon on a store.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use crate::connection;
use crate::disk_reserve::companion_path;
use crate::error::OpenError;

/// The lock of the only daemon of a store; other processes may still use the database. Released
/// when it is dropped or when the process ends in any way.
#[derive(Debug)]
pub struct ExclusiveLock {
    /// The open and locked file `<database>.lock`, which contains the holder's process id.
    _file: File,
}

impl ExclusiveLock {
    /// Takes the lock of the store at this path. Does not wait and does not open the store.
    ///
    /// # Errors
    /// [`OpenError::InUse`] if another process, or another part of this one, has it;
    /// [`OpenError::Io`] if the lock file cannot be created.
    pub fn acquire(database: &Path) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io { path: database.to_owned(), source };
        let path = companion_path(&std::path::absolute(database).map_err(io)?, ".lock");
        connection::create_private_folder(&path).map_err(io)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let mut file = options.open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // On systems that do not read a locked file, the holder's process id stays unknown.
                let _ = file.read_to_string(&mut text);
                let (path, pid) = (database.to_owned(), text.trim().parse().ok());
                return Err(OpenError::InUse { path, pid });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        file.set_len(0).map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_one_is_told_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/store.db");
        for _ in 0..2 {
            let held = ExclusiveLock::acquire(&path).unwrap();
            let error = ExclusiveLock::acquire(&path).unwrap_err();
            assert!(
                matches!(error, OpenError::InUse { pid: Some(pid), .. } if pid == std::process::id())
            );
            let words = error.to_string();
            assert!(words.contains(&format!("process {}", std::process::id())), "{words}");
            assert!(words.contains("store.db is in use"), "{words}");
            drop(held);
        }
    }
}
