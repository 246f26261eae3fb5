//! What goes wrong: when a store is opened, and inside one of its transactions.

use std::path::PathBuf;

use rusqlite::ErrorCode;
use toolcrib_core::StoreError;

/// Why a store was not opened. The file is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file or its folder cannot be made or read.
    #[error("cannot open the store {}: {source}", path.display())]
    Io {
        /// The store's path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file holds something else than an SQLite database.
    #[error("{} is not a Toolcrib store: it is no SQLite database", path.display())]
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
    /// The file was written by a newer Toolcrib, whose tables this one does not know.
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
    /// SQLite could not open or migrate it.
    #[error("cannot open the store {}: {reason}", path.display())]
    Failed {
        /// The store's path.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
}

/// What stops a piece of work inside a transaction.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// It is answered with this.
    #[error(transparent)]
    Answer(#[from] StoreError),
    /// SQLite failed.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A value cannot be kept as JSON, or what is kept cannot be read.
    #[error("a stored value cannot be written or read: {0}")]
    Json(#[from] serde_json::Error),
    /// A number is larger than a column holds.
    #[error("a number is out of range: {0}")]
    Number(#[from] std::num::TryFromIntError),
    /// An id in the database is none.
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

/// An error of SQLite in words.
pub(crate) fn sqlite_failed(error: &rusqlite::Error) -> StoreError {
    StoreError::Failed(match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => {
            format!("another process kept the database locked for {:?}", crate::file::BUSY)
        }
        _ => error.to_string(),
    })
}

/// Whether the disk failed under SQLite. After a failed sync the system may have dropped what it was told to write, and a second sync
/// would claim success, so nothing may be answered after it.
pub(crate) fn is_disk_failure(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt)
    )
}

/// The writer is gone.
pub(crate) fn stopped() -> StoreError {
    StoreError::Failed("the store has been closed".into())
}
