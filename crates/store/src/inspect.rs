//! Read-only inspection of a database file, and a copy of it while other processes use it.

use std::path::Path;

use rusqlite::Connection;

use crate::connection::{self, APPLICATION};
use crate::disk_reserve::open_with_reserve;
use crate::error::{OpenError, open_error};
use crate::schema;
use crate::schema_version::SchemaVersion;

/// Maximum number of listed problems; SQLite's own default is 100.
const PROBLEMS: u32 = 10;

/// The state of a database file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Number of migrations applied to it.
    pub version: i32,
    /// Number of migrations that this build knows. A database with a higher version belongs to a
    /// newer Toolcrib; a lower version is migrated when the store is opened.
    pub known: i32,
    /// Bytes of all pages.
    pub bytes: u64,
    /// Bytes of unused pages.
    pub free_bytes: u64,
    /// Problems found by SQLite's integrity check; empty if there are none.
    pub problems: Vec<String>,
}

impl Inspection {
    /// Inspects the database at this path. Reads every page, which takes several seconds for a
    /// large file.
    ///
    /// # Errors
    /// [`OpenError`] if the file is missing, is not a store, or cannot be read.
    pub fn read(database: &Path) -> Result<Self, OpenError> {
        let conn = open_with_reserve(database, || reader(database))?;
        inspect(&conn).map_err(|error| open_error(database, &error))
    }
}

/// Returns the version of the database at this path; reads one page. A missing file has no version.
///
/// # Errors
/// [`OpenError`] if the file is not a store, belongs to a newer Toolcrib, or cannot be read.
pub fn schema_version(database: &Path) -> Result<SchemaVersion, OpenError> {
    let known = schema::version(schema::MIGRATIONS);
    if !database.exists() {
        return Ok(SchemaVersion { found: None, known });
    }
    let conn = reader(database)?;
    let found = schema::user_version(&conn).map_err(|error| open_error(database, &error))?;
    if found > known {
        return Err(OpenError::Newer { path: database.to_owned(), found, known });
    }
    Ok(SchemaVersion { found: Some(found), known })
}

/// Writes a consistent copy of the database into a new file while other processes use it.
///
/// # Errors
/// [`OpenError`] if the database cannot be read, or if the copy cannot be written or exists
/// already.
pub fn copy(database: &Path, into: &Path) -> Result<(), OpenError> {
    let io = |source| OpenError::Io { path: into.to_owned(), source };
    let text = into.to_str().ok_or_else(|| io(std::io::Error::other("its path is not UTF-8")))?;
    if into.try_exists().map_err(io)? {
        return Err(io(std::io::ErrorKind::AlreadyExists.into()));
    }
    let conn = reader(database)?;
    let copied = conn.execute("VACUUM INTO ?1", [text]);
    copied.map(drop).map_err(|error| open_error(database, &error))
}

fn reader(database: &Path) -> Result<Connection, OpenError> {
    let io = |source| OpenError::Io { path: database.to_owned(), source };
    // Absolute, because SQLite would read a relative "file:x" as a URI.
    let path = std::path::absolute(database).map_err(io)?;
    std::fs::metadata(&path).map_err(io)?;
    let failed = |error: rusqlite::Error| open_error(&path, &error);
    let conn = connection::reader(&path).map_err(failed)?;
    let mark: i32 =
        conn.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    if mark != APPLICATION {
        return Err(OpenError::OtherApplication { path });
    }
    Ok(conn)
}

fn inspect(conn: &Connection) -> rusqlite::Result<Inspection> {
    let number = |pragma: &str| -> rusqlite::Result<u64> {
        let value: i64 = conn.pragma_query_value(None, pragma, |row| row.get(0))?;
        Ok(u64::try_from(value).unwrap_or_default())
    };
    let page = number("page_size")?;
    let mut statement = conn.prepare(&format!("PRAGMA quick_check({PROBLEMS})"))?;
    let found = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut problems = found.collect::<rusqlite::Result<Vec<String>>>()?;
    problems.retain(|problem| problem != "ok");
    Ok(Inspection {
        version: schema::user_version(conn)?,
        known: schema::version(schema::MIGRATIONS),
        bytes: number("page_count")? * page,
        free_bytes: number("freelist_count")? * page,
        problems,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, SeekFrom, Write as _};

    use toolcrib_core::KeyValueStore as _;

    use super::*;
    use crate::SqliteStore;

    #[tokio::test]
    async fn a_copy_of_a_database_at_work_is_one_that_can_be_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one.db"), folder.path().join("two.db"));
        let store = SqliteStore::open(&one).unwrap();
        store.put_value("a", "kept").await.unwrap();
        copy(&one, &two).unwrap();
        store.put_value("a", "later").await.unwrap();
        let seen = Inspection::read(&two).unwrap();
        assert_eq!((seen.version, seen.problems.len()), (seen.known, 0));
        assert!(seen.bytes > 0 && seen.free_bytes <= seen.bytes);
        let opened = SqliteStore::open(&two).unwrap();
        assert_eq!(opened.value("a").await.unwrap().as_deref(), Some("kept"));
        assert!(matches!(copy(&one, &two), Err(OpenError::Io { .. })), "it is there already");
    }

    #[tokio::test]
    async fn what_is_damaged_or_is_no_store_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        assert!(matches!(Inspection::read(&path), Err(OpenError::Io { .. })));
        std::fs::write(&path, "not a database, but long enough to be checked as one".repeat(40))
            .unwrap();
        assert!(matches!(Inspection::read(&path), Err(OpenError::Damaged { .. })));
        std::fs::remove_file(&path).unwrap();
        let foreign = Connection::open(&path).unwrap();
        foreign.execute_batch("CREATE TABLE a (x)").unwrap();
        drop(foreign);
        assert!(matches!(Inspection::read(&path), Err(OpenError::OtherApplication { .. })));
        std::fs::remove_file(&path).unwrap();

        let store = SqliteStore::open(&path).unwrap();
        for at in 0..200 {
            store.put_value(&format!("fact {at}"), &"words ".repeat(100)).await.unwrap();
        }
        drop(store);
        let before = Inspection::read(&path).unwrap();
        let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.seek(SeekFrom::Start(before.bytes - 3 * 4096)).unwrap();
        file.write_all(&[0xff; 8192]).unwrap();
        drop(file);
        let problems = Inspection::read(&path).map(|seen| seen.problems);
        assert!(!matches!(problems, Ok(problems) if problems.is_empty()), "damage is seen");
    }
}
