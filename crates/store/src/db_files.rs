//! The database's open files: one shared descriptor per process, and a check that the paths still
//! lead to the files that were opened.
//!
//! POSIX releases all locks that a process has on a file, SQLite's included, as soon as the process
//! closes any descriptor of that file (`fcntl(2)`). So each file is opened once per process, in
//! addition to SQLite, and closed only when no store of the process uses it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk_reserve::companion_path;

/// File identity: device and inode.
type Id = (u64, u64);

/// Open files of the stores of this process, with their number of users.
static OPEN_FILES: Mutex<Vec<(Id, usize, Arc<File>)>> = Mutex::new(Vec::new());

fn open_files() -> MutexGuard<'static, Vec<(Id, usize, Arc<File>)>> {
    OPEN_FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The database file, opened in addition to SQLite. Must be dropped after every connection to it.
pub(crate) struct SharedFile {
    id: Id,
    file: Arc<File>,
}

impl SharedFile {
    /// Opens the file for reading and writing, or creates an empty file that only its owner can
    /// read; `true` if it was created. SQLite gives its companion files the same permissions.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, bool)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let mut held = open_files();
        let (file, is_made) = match options.clone().create_new(true).open(path) {
            Ok(file) => (file, true),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let id = id_of(path)?;
                if let Some((_, users, file)) = held.iter_mut().find(|(there, ..)| *there == id) {
                    *users += 1;
                    return Ok((Self { id, file: Arc::clone(file) }, false));
                }
                (options.open(path)?, false)
            }
            Err(e) => return Err(e),
        };
        let (file, id) = (Arc::new(file), id_of(path)?);
        held.push((id, 1, Arc::clone(&file)));
        Ok((Self { id, file }, is_made))
    }

    /// Returns the first bytes of the file, at most `length`.
    pub(crate) fn header(&self, length: u64) -> io::Result<Vec<u8>> {
        // The descriptor has one position, which other users share.
        let _held = open_files();
        let mut file: &File = &self.file;
        file.seek(SeekFrom::Start(0))?;
        let mut header = Vec::new();
        file.take(length).read_to_end(&mut header)?;
        Ok(header)
    }

    /// Returns the file itself, for a thread that syncs it while `self` is alive.
    pub(crate) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        let mut held = open_files();
        if let Some(place) = held.iter().position(|(there, ..)| *there == self.id)
            && let Some((_, users, _)) = held.get_mut(place)
        {
            *users -= 1;
            if *users == 0 {
                held.swap_remove(place);
            }
        }
    }
}

/// The identities of the database, its log and the log's index at the time they were opened.
pub(crate) struct DatabaseFiles {
    files: Vec<(PathBuf, Id)>,
}

impl DatabaseFiles {
    /// Records the identities. Call it after SQLite has opened all files.
    pub(crate) fn for_database(database: &Path) -> Self {
        let paths = [
            database.to_owned(),
            companion_path(database, "-wal"),
            companion_path(database, "-shm"),
        ];
        let files = paths.into_iter().filter_map(|path| id_of(&path).ok().map(|id| (path, id)));
        Self { files: files.collect() }
    }

    /// Checks that no file is missing or was replaced.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (path, id) in &self.files {
            match id_of(path) {
                Ok(now) if now == *id => {}
                Ok(_) => return Err(missing_message(path, "was replaced")),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    return Err(missing_message(path, "was deleted or moved away"));
                }
                // A temporary failure to read the folder does not prove anything about the file.
                Err(_) => {}
            }
        }
        Ok(())
    }
}

fn missing_message(path: &Path, how: &str) -> String {
    format!(
        "{} {how} while it was in use: nothing more is written; stop every process that uses it, put the file back, and start again",
        path.display()
    )
}

#[cfg(unix)]
fn id_of(path: &Path) -> io::Result<Id> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(path)?;
    Ok((meta.dev(), meta.ino()))
}

/// Returns no identity: other systems neither delete nor replace an open file, and closing a file
/// releases no locks there.
#[cfg(not(unix))]
fn id_of(path: &Path) -> io::Result<Id> {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    std::fs::metadata(path)?;
    Ok((0, BuildHasherDefault::<DefaultHasher>::default().hash_one(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_open_once_until_its_last_user_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "some text").unwrap();
        let (one, made) = SharedFile::open(&path).unwrap();
        let two = SharedFile::open(&path).unwrap().0;
        assert!(!made && SharedFile::open(&folder.path().join("new")).unwrap().1);
        assert!(Arc::ptr_eq(&one.file, &two.file));
        assert_eq!(one.header(4).unwrap(), b"some");
        assert_eq!(two.header(100).unwrap(), b"some text");
        let id = one.id;
        let users =
            || open_files().iter().find(|(there, ..)| *there == id).map(|(_, users, _)| *users);
        assert_eq!(users(), Some(2));
        drop(one);
        assert_eq!(users(), Some(1));
        drop(two);
        assert_eq!(users(), None);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_deleted_moved_or_replaced_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let log = folder.path().join("store.db-wal");
        let make = || {
            std::fs::write(&path, "x").unwrap();
            std::fs::write(&log, "x").unwrap();
            DatabaseFiles::for_database(&path)
        };
        let place = make();
        assert_eq!(place.check(), Ok(()));
        std::fs::write(&path, "longer").unwrap();
        assert_eq!(place.check(), Ok(()), "written into is not replaced");
        std::fs::remove_file(&log).unwrap();
        assert!(place.check().unwrap_err().contains("store.db-wal was deleted"));
        let place = make();
        std::fs::rename(&path, folder.path().join("kept")).unwrap();
        assert!(place.check().unwrap_err().contains("store.db was deleted or moved"));
        std::fs::write(&path, "x").unwrap();
        assert!(place.check().unwrap_err().contains("store.db was replaced"));
    }
}
