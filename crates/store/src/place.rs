//! The database's files as they were opened: whether they are still where their names lead (reliability D4).
//!
//! POSIX takes all locks of a process off a file as soon as the process closes any descriptor of it, SQLite's locks too. So the file is
//! opened once per process, beside SQLite, and closed only when no store of this process uses it any more.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::reserve::beside;

/// Tells files apart: device and number.
type Id = (u64, u64);

/// Files that stores of this process use, and by how many.
static HELD: Mutex<Vec<(Id, usize, Arc<File>)>> = Mutex::new(Vec::new());

fn held() -> MutexGuard<'static, Vec<(Id, usize, Arc<File>)>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The database file, open beside SQLite. It must go after every connection to it.
pub(crate) struct Held {
    id: Id,
    file: Arc<File>,
}

impl Held {
    /// Opens the file for reading and writing, or makes an empty one that only its owner reads; `true` = it was made. SQLite gives its
    /// companion files the same permissions.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, bool)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let mut held = held();
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

    /// The first bytes of the file, at most `length`.
    pub(crate) fn header(&self, length: u64) -> io::Result<Vec<u8>> {
        // One file has one position, which others use too.
        let _held = held();
        let mut file: &File = &self.file;
        file.seek(SeekFrom::Start(0))?;
        let mut header = Vec::new();
        file.take(length).read_to_end(&mut header)?;
        Ok(header)
    }

    /// The file itself, for a thread that syncs it while this is kept.
    pub(crate) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = held();
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

/// The database with its log and the log's index, as they were when it was opened.
pub(crate) struct Place {
    files: Vec<(PathBuf, Id)>,
}

impl Place {
    /// Notes which files they are. Call it when SQLite has opened all of them.
    pub(crate) fn of(database: &Path) -> Self {
        let paths = [database.to_owned(), beside(database, "-wal"), beside(database, "-shm")];
        let files = paths.into_iter().filter_map(|path| id_of(&path).ok().map(|id| (path, id)));
        Self { files: files.collect() }
    }

    /// What is no longer where it was.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (path, id) in &self.files {
            match id_of(path) {
                Ok(now) if now == *id => {}
                Ok(_) => return Err(lost(path, "was replaced")),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    return Err(lost(path, "was deleted or moved away"));
                }
                // A folder that cannot be read for a moment says nothing about the file.
                Err(_) => {}
            }
        }
        Ok(())
    }
}

fn lost(path: &Path, how: &str) -> String {
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

/// Elsewhere a file that is open can neither be deleted nor replaced, and closing it takes no locks off.
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
        let (one, made) = Held::open(&path).unwrap();
        let two = Held::open(&path).unwrap().0;
        assert!(!made && Held::open(&folder.path().join("new")).unwrap().1);
        assert!(Arc::ptr_eq(&one.file, &two.file));
        assert_eq!(one.header(4).unwrap(), b"some");
        assert_eq!(two.header(100).unwrap(), b"some text");
        let id = one.id;
        let users = || held().iter().find(|(there, ..)| *there == id).map(|(_, users, _)| *users);
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
            Place::of(&path)
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
