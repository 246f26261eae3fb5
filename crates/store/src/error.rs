//! Errors of the SQLite store: opening it, and a write inside a transaction.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};
use toolcrib_core::StoreError;

/// Error of opening a store. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file or its folder cannot be created or read.
    #[error(
        "cannot open the store {}: {source}; nothing was changed. This user must be able to read and write the file and its folder",
        path.display()
    )]
    Io {
        /// The store's path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not an SQLite database.
    #[error("{} is not a Toolcrib store: it is not an SQLite database", path.display())]
    NotADatabase {
        /// The store's path.
        path: PathBuf,
    },
    /// The file is a database of another application.
    #[error("{} is not a Toolcrib store: it is a database of another application", path.display())]
    OtherApplication {
        /// The store's path.
        path: PathBuf,
    },
    /// The file was written by a newer Toolcrib, whose tables this build does not know.
    #[error(
        "the store {} has version {found}, this Toolcrib knows versions up to {known}: use a newer Toolcrib",
        path.display()
    )]
    Newer {
        /// The store's path.
        path: PathBuf,
        /// Version of the file.
        found: i32,
        /// Newest version that this build knows.
        known: i32,
    },
    /// The file or its file system is read-only.
    #[error(
        "the store {} cannot be written: its file, its folder or the file system is read-only; make it writable, or choose another location",
        path.display()
    )]
    ReadOnly {
        /// The store's path.
        path: PathBuf,
    },
    /// The disk has no space for opening the store.
    #[error(
        "cannot open the store {}: the disk is full; nothing is lost. Free some space and try again",
        path.display()
    )]
    Full {
        /// The store's path.
        path: PathBuf,
    },
    /// The file is a damaged store.
    #[error(
        "the store {} is damaged ({reason}); nothing was changed: keep a copy of it, then restore a backup, or move it away with the files next to it to start with an empty store",
        path.display()
    )]
    Damaged {
        /// The store's path.
        path: PathBuf,
        /// The damage that was found.
        reason: String,
    },
    /// Another process has locked the store for its lifetime.
    #[error(
        "the store {} is in use by {}: stop that one first, or use another store",
        path.display(),
        holder(*pid)
    )]
    InUse {
        /// The store's path.
        path: PathBuf,
        /// Process id of the holder; `None` if its lock file cannot be read.
        pid: Option<u32>,
    },
    /// SQLite could not open or migrate the file.
    #[error(
        "cannot open the store {}: {reason}; nothing was changed. `toolcrib doctor` checks the database and its disk",
        path.display()
    )]
    Failed {
        /// The store's path.
        path: PathBuf,
        /// SQLite's error.
        reason: String,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

/// Maps SQLite's error of opening or migrating the file.
pub(crate) fn open_error(path: &Path, error: &rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly) => OpenError::ReadOnly { path },
        Some(ErrorCode::DiskFull) => OpenError::Full { path },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            OpenError::Damaged { path, reason: "it cannot be read as a database".to_owned() }
        }
        _ => {
            let reason = match sqlite_failed(error) {
                StoreError::Failed(words) | StoreError::Busy(words) => words,
                other => other.to_string(),
            };
            OpenError::Failed { path, reason }
        }
    }
}

/// Error of one write inside a transaction.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A refusal, returned to the caller unchanged.
    #[error(transparent)]
    Answer(#[from] StoreError),
    /// SQLite failed.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A value cannot be written as JSON, or a stored one cannot be read.
    #[error("a stored value cannot be written or read: {0}")]
    Json(#[from] serde_json::Error),
    /// A number does not fit into its column.
    #[error("a number is out of range: {0}")]
    Number(#[from] std::num::TryFromIntError),
    /// A stored id is invalid.
    #[error("a stored id cannot be read: {0}")]
    Id(#[from] toolcrib_core::id::IdError),
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Answer(answer) => answer,
            Failure::Sqlite(error) => sqlite_failed(&error),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl Failure {
    /// Returns whether the disk failed, see [`is_disk_failure`].
    pub(crate) fn is_disk_error(&self) -> bool {
        matches!(self, Self::Sqlite(error) if is_disk_failure(error))
    }
}

/// Maps an SQLite error to a message that names the remedy, if there is one.
pub(crate) fn sqlite_failed(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(
            "another process kept the database locked; nothing is lost, try again".to_owned(),
        ),
        Some(_) if is_full(error) => disk_full(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(&error.to_string()),
        Some(ErrorCode::SystemIoFailure) => StoreError::Failed(format!(
            "the disk failed under the database ({error}); earlier records are safe. Check the disk, then start Toolcrib again, which checks the database"
        )),
        _ => StoreError::Failed(error.to_string()),
    }
}

/// Returns the error of writes while the disk is full.
pub(crate) fn disk_full() -> StoreError {
    let words = "no record is lost; tools that only read continue to work, and calls with side effects work again as soon as there is space";
    StoreError::Full(words.to_owned())
}

/// Returns the error of a database whose pages are inconsistent.
pub(crate) fn damaged(problem: &str) -> StoreError {
    StoreError::Failed(format!(
        "the database is damaged ({problem}); keep a copy of it, then restore a backup with `toolcrib restore FILE --force`"
    ))
}

/// Returns whether a system error means that the disk or the quota is full.
pub(crate) fn is_full_error(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Returns whether the disk is full. The WAL index is a separate file and reports it with a
/// separate code.
fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|e| {
        e.code == ErrorCode::DiskFull || e.extended_code == ffi::SQLITE_IOERR_SHMSIZE
    })
}

/// Returns whether the disk failed under SQLite. After a failed sync the system may have dropped
/// dirty pages, and a second sync would report success, so no write may be acknowledged after it.
pub(crate) fn is_disk_failure(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    ) && !is_full(error)
}

/// Maps a system error: a full disk is temporary, every other error is permanent.
pub(crate) fn io_failed(what: &str, error: &io::Error) -> StoreError {
    if is_full_error(error) {
        StoreError::Full(what.to_owned())
    } else {
        StoreError::Failed(format!("{what}: {error}"))
    }
}

/// Returns the error after the writer has ended.
pub(crate) fn stopped() -> StoreError {
    StoreError::Failed("the store has been closed".into())
}
