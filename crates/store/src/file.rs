//! The file: made private, looked at before it is opened, opened with one set of settings.

use std::fs::{DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::error::{OpenError, not_opened};
use crate::place::Held;
use crate::reserve::{Reserve, beside};
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
/// Where it keeps the size of a page and the number of pages (sections 1.3.2 and 1.3.8).
const PAGE_SIZE_AT: usize = 16;
const PAGES_AT: usize = 28;
const HEADER: usize = 100;

/// A database that was opened.
pub(crate) struct Opened {
    /// The connection that writes.
    pub(crate) conn: Connection,
    /// Absolute path.
    pub(crate) path: PathBuf,
    /// The file beside SQLite; goes after every connection.
    pub(crate) held: Held,
    /// Whether the file itself may not have reached the disk: then [`sync_file`] has to come before anything that is promised to survive
    /// a power cut.
    pub(crate) unsynced: bool,
}

/// Makes or opens the database at `path` and brings its tables up to date. Another process is waited for as long as `busy`.
pub(crate) fn open(path: &Path, busy: Duration) -> Result<Opened, OpenError> {
    let asked = path;
    let io = |source| not_made(asked, source);
    // Absolute, because SQLite would read a relative "file:x" as a URI.
    let path = std::path::absolute(path).map_err(io)?;
    make_folder(&path).map_err(io)?;
    let (held, is_made) = Held::open(&path).map_err(io)?;
    let may_be_fresh = may_be_fresh(&path).map_err(io)?;
    recognise(&path, &held, is_made)?;
    let failed = |e: rusqlite::Error| not_opened(&path, &e);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(&path, flags).map_err(failed)?;
    settings(&conn, busy).map_err(failed)?;
    if conn.is_readonly(MAIN_DB).map_err(failed)? {
        // SQLite is content with less than it was asked for.
        return Err(OpenError::ReadOnly { path });
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
    wal(&conn, busy).map_err(failed)?;
    // Only a read opens the log and its index.
    schema::user_version(&conn).map_err(failed)?;
    Ok(Opened { conn, path, held, unsynced: new || may_be_fresh })
}

/// Why a file or its folder cannot be made or opened.
fn not_made(path: &Path, source: io::Error) -> OpenError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            OpenError::ReadOnly { path }
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => OpenError::Full { path },
        _ => OpenError::Io { path, source },
    }
}

/// Whether somebody else may have made the file and died, or be about to, before it was synced.
fn may_be_fresh(path: &Path) -> io::Result<bool> {
    let log = beside(path, "-wal");
    let meta = std::fs::metadata(path)?;
    let made = meta.created().or_else(|_| meta.modified())?;
    Ok(is_doubtful(made.elapsed().ok(), log.try_exists()?))
}

/// Nobody vouches for a file that is young, has a time in the future (no age), or is not at work: a log is there while it is.
fn is_doubtful(age: Option<Duration>, has_log: bool) -> bool {
    !has_log || age.is_none_or(|age| age < YOUNG)
}

/// Brings the file to the disk, and its name, and that of its folder, which may be new too.
pub(crate) fn sync_file(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    // Only there can a folder be opened and synced like a file.
    let folders = if cfg!(unix) { 2 } else { 0 };
    path.ancestors().skip(1).take(folders).try_for_each(|folder| File::open(folder)?.sync_all())
}

/// A database of this process only.
pub(crate) fn in_memory() -> rusqlite::Result<Connection> {
    let mut conn = Connection::open_in_memory()?;
    settings(&conn, BUSY)?;
    schema::migrate(&mut conn, schema::MIGRATIONS)?;
    Ok(conn)
}

/// A connection that only reads.
pub(crate) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    settings(&conn, BUSY)?;
    Ok(conn)
}

/// A connection that folds the log into the file.
pub(crate) fn folder(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    settings(&conn, BUSY)?;
    Ok(conn)
}

fn settings(conn: &Connection, busy: Duration) -> rusqlite::Result<()> {
    conn.busy_timeout(busy)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // In memory, so that a full disk elsewhere is nobody's trouble here. A log that had to grow is cut when it begins anew.
    conn.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;
        PRAGMA journal_size_limit = 67108864;",
    )
}

/// Turns the write-ahead log on. Processes that open a new file at once get in each other's way here, and SQLite does not always wait.
fn wal(conn: &Connection, busy: Duration) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        match conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
            Err(e)
                if e.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && start.elapsed() < busy =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            done => return done,
        }
    }
}

/// Makes the folders that a file lies in, for this user only.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let mut folders = DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        folders.mode(0o700);
    }
    path.parent().map_or(Ok(()), |parent| folders.create(parent))
}

/// Looks at the header, without SQLite, so that a file that is not ours is not touched: opening a foreign database would already leave
/// files beside it. An empty file is a new store. Ours carries its mark from the first commit on.
fn recognise(path: &Path, held: &Held, is_made: bool) -> Result<(), OpenError> {
    let header = held.header(HEADER as u64).map_err(|e| not_made(path, e))?;
    let path = path.to_owned();
    if header.is_empty() {
        // A store that was cut to nothing would silently begin anew.
        let was_used = !is_made && Reserve::of(&path).is_there();
        let reason = "it is empty, and a file beside it says that it was used before";
        return match was_used {
            true => Err(OpenError::Damaged { path, reason: reason.to_owned() }),
            false => Ok(()),
        };
    }
    if header.len() < HEADER || !header.starts_with(MAGIC) {
        return Err(OpenError::NotADatabase { path });
    }
    let mark = header.get(APPLICATION_AT..);
    if !mark.is_some_and(|mark| mark.starts_with(&APPLICATION.to_be_bytes())) {
        return Err(OpenError::OtherApplication { path });
    }
    match cut_off(&path, &header) {
        Some(reason) => Err(OpenError::Damaged { path, reason }),
        None => Ok(()),
    }
}

/// Whether the file is shorter than its header says. While it is at work that means nothing: its newest pages are in the log.
fn cut_off(path: &Path, header: &[u8]) -> Option<String> {
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = header.get(at..at + bytes)?;
        Some(field.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let page = match number(PAGE_SIZE_AT, 2)? {
        1 => 65_536,
        size => size,
    };
    let needed = page * number(PAGES_AT, 4)?;
    let length = std::fs::metadata(path).ok()?.len();
    let is_at_work = ["-wal", "-journal"].into_iter().any(|log| beside(path, log).exists());
    (length < needed && !is_at_work)
        .then(|| format!("it has {length} bytes where its header says {needed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_maker_died_before_the_sync_is_synced_by_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        // Nobody synced this one: only the writer does.
        let first = open(&path, BUSY).unwrap();
        assert!(first.unsynced);
        // Beside the log of the first, and after it.
        assert!(open(&path, BUSY).unwrap().unsynced);
        drop(first);
        assert!(open(&path, BUSY).unwrap().unsynced);
        sync_file(&File::open(&path).unwrap(), &path).unwrap();
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
