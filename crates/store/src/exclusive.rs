//! One process alone on a store, for as long as it lives (reliability B4).

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use crate::error::OpenError;
use crate::file;
use crate::reserve::beside;

/// Held by a process that wants to be the only daemon of a store; others may still use the file. It ends with the process, however that
/// ends, or when it is dropped.
#[derive(Debug)]
pub struct ExclusiveLock {
    /// Locked while it is open; `<database>.lock`, with the holder's process id inside.
    _file: File,
}

impl ExclusiveLock {
    /// Takes the lock of the store at this path, or says who has it. Does not wait, and does not open the store.
    ///
    /// # Errors
    /// [`OpenError::InUse`] when another process, or another part of this one, holds it; [`OpenError::Io`] when its file cannot be made.
    pub fn hold(database: &Path) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io { path: database.to_owned(), source };
        let path = beside(&std::path::absolute(database).map_err(io)?, ".lock");
        file::make_folder(&path).map_err(io)?;
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
                // Where a locked file cannot be read, its holder stays nameless.
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
            let held = ExclusiveLock::hold(&path).unwrap();
            let error = ExclusiveLock::hold(&path).unwrap_err();
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
