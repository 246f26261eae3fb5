//! The file: made private, looked at before it is opened, opened with one set of settings.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::error::OpenError;
use crate::schema;

/// Marks a database as ours: "TCRB" in the field of its header that SQLite keeps for this.
pub(crate) const APPLICATION: i32 = 0x5443_5242;
/// How long a write waits for another process (reliability figure B1: locked for 30 s by another process, nothing is lost; SQLite looks
/// only now and then, so it needs some more).
pub(crate) const BUSY: Duration = Duration::from_secs(35);
/// How long a file may be without having reached the disk by itself (Linux writes back what is 30 s old).
const YOUNG: Duration = Duration::from_secs(60);
/// Prepared statements that a connection keeps: more than there are.
const STATEMENTS: usize = 64;

/// First bytes of every SQLite 3 database (its file format, section 1.3).
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Where the header keeps the application's id, big-endian (section 1.3.15).
const APPLICATION_AT: usize = 68;
const HEADER: usize = 100;

/// A database that was opened.
pub(crate) struct Opened {
    /// The connection that writes.
    pub(crate) conn: Connection,
    /// Absolute path.
    pub(crate) path: PathBuf,
    /// Whether the file itself may not have reached the disk: then [`sync_file`] has to come before anything that is promised to survive
    /// a power cut.
    pub(crate) unsynced: bool,
}

/// Makes or opens the database at `path` and brings its tables up to date.
pub(crate) fn open(path: &Path) -> Result<Opened, OpenError> {
    let io = |source| OpenError::Io { path: path.to_owned(), source };
    // Absolute, because SQLite would read a relative "file:x" as a URI.
    let path = std::path::absolute(path).map_err(io)?;
    create(&path).map_err(io)?;
    let may_be_fresh = may_be_fresh(&path).map_err(io)?;
    recognise(&path)?;
    let failed = |e: rusqlite::Error| OpenError::Failed {
        path: path.clone(),
        reason: match crate::error::sqlite_failed(&e) {
            toolcrib_core::StoreError::Failed(words) => words,
            other => other.to_string(),
        },
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(&path, flags).map_err(failed)?;
    settings(&conn).map_err(failed)?;
    if conn.is_readonly(MAIN_DB).map_err(failed)? {
        // SQLite is content with less than it was asked for.
        let source = io::ErrorKind::PermissionDenied.into();
        return Err(OpenError::Io { path, source });
    }
    let new = schema::user_version(&conn).map_err(failed)? == 0;
    if new {
        // Nothing can be lost yet, and a new file takes a dozen syncs of up to 5 ms each.
        conn.execute_batch("PRAGMA synchronous = OFF").map_err(failed)?;
    }
    let found = schema::migrate(&mut conn, schema::MIGRATIONS).map_err(failed)?;
    let known = schema::version(schema::MIGRATIONS);
    if found != known {
        return Err(OpenError::Newer { path, found, known });
    }
    wal(&conn).map_err(failed)?;
    Ok(Opened { conn, path, unsynced: new || may_be_fresh })
}

/// Whether somebody else may have made the file and died, or be about to, before it was synced.
fn may_be_fresh(path: &Path) -> io::Result<bool> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let meta = std::fs::metadata(path)?;
    let made = meta.created().or_else(|_| meta.modified())?;
    Ok(is_doubtful(made.elapsed().ok(), Path::new(&log).try_exists()?))
}

/// Nobody vouches for a file that is young, has a time in the future (no age), or is not at work: a log is there while it is.
fn is_doubtful(age: Option<Duration>, has_log: bool) -> bool {
    !has_log || age.is_none_or(|age| age < YOUNG)
}

/// Brings the file to the disk, and its name, and that of its folder, which may be new too.
pub(crate) fn sync_file(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.sync_all()?;
    // Only there can a folder be opened and synced like a file.
    let folders = if cfg!(unix) { 2 } else { 0 };
    path.ancestors().skip(1).take(folders).try_for_each(|folder| File::open(folder)?.sync_all())
}

/// A database of this process only.
pub(crate) fn in_memory() -> rusqlite::Result<Connection> {
    let mut conn = Connection::open_in_memory()?;
    settings(&conn)?;
    schema::migrate(&mut conn, schema::MIGRATIONS)?;
    Ok(conn)
}

/// A connection that only reads.
pub(crate) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    settings(&conn)?;
    Ok(conn)
}

fn settings(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(BUSY)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.execute_batch("PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;")
}

/// Turns the write-ahead log on. Processes that open a new file at once get in each other's way here, and SQLite does not always wait.
fn wal(conn: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        match conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
            Err(e)
                if e.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && start.elapsed() < BUSY =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            done => return done,
        }
    }
}

/// Makes an empty file that only its owner reads, in folders that only their owner enters. SQLite gives its companion files the same
/// permissions.
fn create(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new();
    file.write(true).create_new(true);
    let mut folders = DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        file.mode(0o600);
        folders.mode(0o700);
    }
    if let Some(parent) = path.parent() {
        folders.create(parent)?;
    }
    match file.open(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done.map(drop),
    }
}

/// Looks at the header, without SQLite, so that a file that is not ours is not touched: opening a foreign database would already leave
/// files beside it. An empty file is a new store. Ours carries its mark from the first commit on.
fn recognise(path: &Path) -> Result<(), OpenError> {
    let mut header = Vec::with_capacity(HEADER);
    File::open(path)
        .and_then(|file| file.take(HEADER as u64).read_to_end(&mut header))
        .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
    if header.is_empty() {
        return Ok(());
    }
    if header.len() < HEADER || !header.starts_with(MAGIC) {
        return Err(OpenError::NotADatabase { path: path.to_owned() });
    }
    if header[APPLICATION_AT..].starts_with(&APPLICATION.to_be_bytes()) {
        Ok(())
    } else {
        Err(OpenError::OtherApplication { path: path.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_maker_died_before_the_sync_is_synced_by_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        // Nobody synced this one: only the writer does.
        let first = open(&path).unwrap();
        assert!(first.unsynced);
        // Beside the log of the first, and after it.
        assert!(open(&path).unwrap().unsynced);
        drop(first);
        assert!(open(&path).unwrap().unsynced);
        sync_file(&path).unwrap();
        for (age, has_log, doubtful) in [
            (Some(YOUNG), true, false),
            (Some(YOUNG), false, true),
            (Some(YOUNG / 2), true, true),
            (None, true, true),
        ] {
            assert_eq!(is_doubtful(age, has_log), doubtful, "{age:?} {has_log}");
        }
    }
}
