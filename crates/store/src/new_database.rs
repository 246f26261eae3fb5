//! Creates a database file atomically: under its name there is either no file or a complete, synced
//! database.
//!
//! A power cut before the first sync would tear a file that is written under its final name: its
//! header can be zeros ("file is not a database"), or pages of its tables can be missing. No write
//! was acknowledged by then, but no later start could open the file.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use rusqlite::MAIN_DB;

use crate::connection;
use crate::disk_reserve::companion_path;
use crate::error::{OpenError, open_error};

/// Ending of the name under which a database is written, followed by random letters.
const UNFINISHED: &str = ".new-";
/// Age from which such a file was left behind by a dead process.
const ABANDONED: Duration = Duration::from_secs(60);
/// Offsets in the header of the versions needed for writing and reading, and their value for a
/// database with a write-ahead log (SQLite file format, section 1.3.3).
const VERSIONS_AT: std::ops::Range<usize> = 18..20;
const WITH_LOG: u8 = 2;

/// Creates the database with its tables, unless a file exists at `path`. Of several processes that
/// do this at the same time, the first one's file is used by all.
pub(crate) fn create_if_missing(path: &Path) -> Result<(), OpenError> {
    let io = |source| connection::not_made(path, source);
    if path.try_exists().map_err(io)? {
        return Ok(());
    }
    remove_abandoned(path);
    let image = image().map_err(|error| open_error(path, &error))?;
    write_whole(path, &image).map_err(io)
}

/// Returns the content of a new database. Migrations in memory avoid the dozen syncs that they need
/// in a file.
fn image() -> rusqlite::Result<Vec<u8>> {
    let mut conn = connection::in_memory()?;
    let mut image = conn.serialize(MAIN_DB)?.to_vec();
    if let Some(versions) = image.get_mut(VERSIONS_AT) {
        versions.fill(WITH_LOG);
    }
    Ok(image)
}

fn write_whole(path: &Path, image: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::Builder::new().prefix(&unfinished_name(path)).tempfile_in(folder)?;
    file.write_all(image)?;
    file.as_file().sync_all()?;
    // Close the file before it gets its name: closing it later would release the locks that another
    // connection of this process holds on it by then.
    let unfinished = file.into_temp_path();
    match fs::hard_link(&unfinished, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // A file system without hard links, such as exFAT.
        Err(_) if !path.try_exists()? => fs::rename(&unfinished, path),
        linked => linked,
    }
}

fn unfinished_name(path: &Path) -> std::ffi::OsString {
    companion_path(path, UNFINISHED).file_name().unwrap_or_default().to_owned()
}

/// Removes files of processes that died while creating the database.
fn remove_abandoned(path: &Path) {
    let begin = unfinished_name(path);
    let begin = begin.as_encoded_bytes();
    let files = path.parent().and_then(|folder| fs::read_dir(folder).ok());
    for file in files.into_iter().flatten().flatten() {
        let age = file.metadata().and_then(|meta| meta.modified()).ok();
        let is_old = age.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > ABANDONED);
        if is_old && file.file_name().as_encoded_bytes().starts_with(begin) {
            // A remaining file does no harm.
            let _ = fs::remove_file(file.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_new_database_is_whole_has_a_log_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        for (name, age) in [("store.db.new-old", 2), ("store.db.new-young", 0), ("other", 2)] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - ABANDONED * age).unwrap();
        }
        create_if_missing(&path).unwrap();
        let conn = rusqlite::Connection::open(&path).unwrap();
        let text = |pragma: &str| -> String {
            conn.pragma_query_value(None, pragma, |row| row.get(0)).unwrap()
        };
        assert_eq!(text("journal_mode"), "wal");
        assert_eq!(text("integrity_check"), "ok");
        drop(conn);
        let files = fs::read_dir(folder.path()).unwrap();
        let mut left: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["other", "store.db", "store.db.new-young"]);
        let before = fs::read(&path).unwrap();
        create_if_missing(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), before, "what is there stays");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_database_belongs_to_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        create_if_missing(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
