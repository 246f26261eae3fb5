//! SQLite connections: checks the header of the database file, and opens every connection with the
//! same settings.

use std::fs::{DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::db_files::SharedFile;
use crate::disk_reserve::{DiskReserve, companion_path, open_with_reserve};
use crate::error::{OpenError, is_full_error, open_error};
use crate::integrity::{Pages, check_after_unclean_end};
use crate::new_database;
use crate::schema;
use crate::worker_locks::WorkerLocks;

/// Application id of a Toolcrib database: "TCRB" in the header field that SQLite reserves for it.
pub(crate) const APPLICATION: i32 = 0x5443_5242;
/// How long a write waits for a lock of another process. A lock of 30 s must not lose any write;
/// SQLite's busy handler polls at intervals, so the limit is higher.
pub(crate) const BUSY: Duration = Duration::from_secs(35);
/// Age from which a file counts as written back: Linux writes back dirty pages after 30 s.
const YOUNG: Duration = Duration::from_secs(60);
/// Size of a connection's statement cache: larger than the number of statements.
const STATEMENTS: usize = 64;

/// First bytes of every SQLite 3 database (SQLite file format, section 1.3).
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Offset of the application id in the header, big-endian (section 1.3.15).
const APPLICATION_AT: usize = 68;
/// Offsets of the page size and the page count (sections 1.3.2 and 1.3.8).
const PAGE_SIZE_AT: usize = 16;
const PAGES_AT: usize = 28;
const HEADER: usize = 100;

/// An opened database.
pub(crate) struct OpenedDatabase {
    /// The write connection.
    pub(crate) conn: Connection,
    /// Absolute path.
    pub(crate) path: PathBuf,
    /// The second open descriptor of the file; dropped after every connection.
    pub(crate) held: SharedFile,
    /// Whether the file itself may not be on disk yet. If so, [`sync_file`] must run before any
    /// write that has to survive a power loss.
    pub(crate) unsynced: bool,
}

/// Creates or opens the database at `path` and migrates its tables. Waits up to `busy` for another
/// process. After an unclean end it checks the database first.
pub(crate) fn open(path: &Path, busy: Duration) -> Result<OpenedDatabase, OpenError> {
    let io = |source| not_made(path, source);
    // Absolute, because SQLite would read a relative "file:x" as a URI.
    let path = std::path::absolute(path).map_err(io)?;
    open_with_reserve(&path, || open_once(path.clone(), busy))
}

fn open_once(path: PathBuf, busy: Duration) -> Result<OpenedDatabase, OpenError> {
    let io = |source| not_made(&path, source);
    create_private_folder(&path).map_err(io)?;
    new_database::create_if_missing(&path)?;
    let (held, is_made) = SharedFile::open(&path).map_err(io)?;
    let was_unclean = ended_uncleanly(&path);
    let may_be_fresh = may_be_fresh(&path).map_err(io)?;
    check_header(&path, &held, is_made)?;
    let failed = |e: rusqlite::Error| open_error(&path, &e);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(&path, flags).map_err(failed)?;
    settings(&conn, busy).map_err(failed)?;
    if conn.is_readonly(MAIN_DB).map_err(failed)? {
        // SQLite silently opens a file read-only if it cannot open it for writing.
        return Err(OpenError::ReadOnly { path });
    }
    let found = schema::migrate(&mut conn, schema::MIGRATIONS).map_err(failed)?;
    let known = schema::version(schema::MIGRATIONS);
    if found != known {
        return Err(OpenError::Newer { path, found, known });
    }
    wal(&conn, busy).map_err(failed)?;
    // SQLite opens the log and its index at the first read.
    schema::user_version(&conn).map_err(failed)?;
    if was_unclean
        && let Pages::Damaged(reason) = check_after_unclean_end(&mut conn).map_err(failed)?
    {
        return Err(OpenError::Damaged { path, reason });
    }
    Ok(OpenedDatabase { conn, path, held, unsynced: may_be_fresh })
}

/// Returns the error for a file or folder that cannot be created or opened.
pub(crate) fn not_made(path: &Path, source: io::Error) -> OpenError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            OpenError::ReadOnly { path }
        }
        _ if is_full_error(&source) => OpenError::Full { path },
        _ => OpenError::Io { path, source },
    }
}

/// Returns whether the last process that used the database did not close it: the last one folds the
/// log and deletes it. While a process with a claim is alive, the log is in use.
fn ended_uncleanly(path: &Path) -> bool {
    let log = std::fs::metadata(companion_path(path, "-wal"));
    let workers = WorkerLocks::for_database(path);
    log.is_ok_and(|log| log.len() > 0)
        && !workers.files().into_iter().any(|epoch| workers.is_alive(epoch))
}

/// Returns whether another process may have created the file and died, or may be about to die,
/// before syncing it.
fn may_be_fresh(path: &Path) -> io::Result<bool> {
    let log = companion_path(path, "-wal");
    let meta = std::fs::metadata(path)?;
    let made = meta.created().or_else(|_| meta.modified())?;
    Ok(is_doubtful(made.elapsed().ok(), log.try_exists()?))
}

/// Returns whether a file is doubtful: it is young, its time is in the future (no age), or it is
/// not in use. A log exists only while it is in use.
fn is_doubtful(age: Option<Duration>, has_log: bool) -> bool {
    !has_log || age.is_none_or(|age| age < YOUNG)
}

/// Syncs the file, its name, and the name of its folder, which may be new too.
pub(crate) fn sync_file(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    // Only Unix can open and sync a folder like a file.
    let folders = if cfg!(unix) { 2 } else { 0 };
    path.ancestors().skip(1).take(folders).try_for_each(|folder| File::open(folder)?.sync_all())
}

/// Opens an in-memory database of this process.
pub(crate) fn in_memory() -> rusqlite::Result<Connection> {
    let mut conn = Connection::open_in_memory()?;
    settings(&conn, BUSY)?;
    schema::migrate(&mut conn, schema::MIGRATIONS)?;
    Ok(conn)
}

/// Opens a read-only connection.
pub(crate) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    settings(&conn, BUSY)?;
    Ok(conn)
}

/// Opens a connection that checkpoints the WAL.
pub(crate) fn wal_checkpointer(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    settings(&conn, BUSY)?;
    Ok(conn)
}

fn settings(conn: &Connection, busy: Duration) -> rusqlite::Result<()> {
    conn.busy_timeout(busy)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // Temporary tables in memory, so that a full disk elsewhere does not matter. A log that had to
    // grow is truncated when it restarts.
    conn.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;
        PRAGMA journal_size_limit = 67108864;",
    )
}

/// Switches to WAL mode. Processes that open a new file at the same time conflict here, and SQLite
/// does not always call the busy handler.
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

/// Creates the parent folders of a file, accessible to this user only.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut folders = DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        folders.mode(0o700);
    }
    path.parent().map_or(Ok(()), |parent| folders.create(parent))
}

/// Checks the header without SQLite, so that a foreign file stays untouched: opening a foreign
/// database would already create files next to it. An empty file is a new store. A Toolcrib
/// database carries its application id from the first commit.
fn check_header(path: &Path, held: &SharedFile, is_made: bool) -> Result<(), OpenError> {
    let header = held.header(HEADER as u64).map_err(|e| not_made(path, e))?;
    let path = path.to_owned();
    if header.is_empty() {
        // Without this check, a store that was truncated to zero bytes would silently start empty.
        let was_used = !is_made && DiskReserve::for_database(&path).exists();
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
    match truncation_message(&path, &header) {
        Some(reason) => Err(OpenError::Damaged { path, reason }),
        None => Ok(()),
    }
}

/// Returns the error if the file is shorter than its header specifies. The size is meaningless
/// while the database is in use: its newest pages are in the log.
fn truncation_message(path: &Path, header: &[u8]) -> Option<String> {
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
    let is_at_work = ["-wal", "-journal"].into_iter().any(|log| companion_path(path, log).exists());
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
        // Not synced by `open`: only the writer syncs.
        let first = open(&path, BUSY).unwrap();
        assert!(first.unsynced);
        // With the log of the first connection present, and after its deletion.
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
