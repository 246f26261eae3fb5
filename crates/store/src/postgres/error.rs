//! What goes wrong: when a database is opened, and inside a transaction.

use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};
use toolcrib_core::StoreError;

/// Why a database was not opened. It is as it was before. No words of this hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The address cannot be read.
    #[error(
        "the address of the database cannot be read: {0}; it looks like postgres://USER@HOST/DATABASE"
    )]
    BadUrl(&'static str),
    /// The certificates to check the server with cannot be read.
    #[error("cannot set up TLS for the database: {0}")]
    Tls(String),
    /// The server cannot be reached, or does not let us in.
    #[error("cannot connect to the database {place}: {reason}")]
    Unreachable {
        /// Host and database.
        place: String,
        /// What the system or the server said.
        reason: String,
    },
    /// The database keeps text in another encoding.
    #[error(
        "the database {place} keeps text as {encoding}; Toolcrib needs one with the encoding UTF8"
    )]
    NotUtf8 {
        /// Host and database.
        place: String,
        /// Its encoding.
        encoding: String,
    },
    /// The database holds tables that are not ours.
    #[error("the database {place} is not a Toolcrib store: it has tables of another application")]
    OtherApplication {
        /// Host and database.
        place: String,
    },
    /// The database was written by a newer Toolcrib, whose tables this one does not know.
    #[error(
        "the store in the database {place} has version {found}, this Toolcrib knows versions up to {known}: use a newer Toolcrib"
    )]
    Newer {
        /// Host and database.
        place: String,
        /// Version of the tables.
        found: i32,
        /// Newest version that this build knows.
        known: i32,
    },
    /// The tables could not be made or brought up to date.
    #[error("cannot open the store in the database {place}: {reason}")]
    Failed {
        /// Host and database.
        place: String,
        /// What the server said.
        reason: String,
    },
}

/// What stops a piece of work inside a transaction.
#[derive(Debug)]
pub(super) enum Failure {
    /// It is answered with this, and wrote nothing.
    Answer(StoreError),
    /// The database failed: so does the transaction.
    Database(Error),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Answer(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<crate::error::Failure> for Failure {
    fn from(error: crate::error::Failure) -> Self {
        Self::Answer(error.into())
    }
}

impl From<std::num::TryFromIntError> for Failure {
    fn from(error: std::num::TryFromIntError) -> Self {
        crate::error::Failure::from(error).into()
    }
}

impl From<toolcrib_core::id::IdError> for Failure {
    fn from(error: toolcrib_core::id::IdError) -> Self {
        crate::error::Failure::from(error).into()
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Answer(answer) => answer,
            Failure::Database(error) => store_error(&error),
        }
    }
}

/// An error of the database as its users see it.
pub(super) fn store_error(error: &Error) -> StoreError {
    let words = words(error);
    if is_lost(error) || is_passing(error) {
        return StoreError::Busy(words);
    }
    match error.code() {
        Some(code) if *code == SqlState::DISK_FULL => StoreError::Full(words),
        _ => StoreError::Failed(words),
    }
}

/// What the server or the system said, without the values of rows (which the server's own details may quote).
pub(super) fn words(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("{} ({})", said.message(), said.code().code());
    }
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let said = cause.to_string();
        if !words.contains(&said) {
            words = format!("{words}: {said}");
        }
        source = cause.source();
    }
    words
}

/// Whether the connection is gone: whatever was in progress on it has to be looked at again on another.
pub(super) fn is_lost(error: &Error) -> bool {
    let Some(said) = error.as_db_error() else {
        let source = std::error::Error::source(error);
        return error.is_closed() || source.is_some_and(|cause| cause.is::<std::io::Error>());
    };
    let ends = matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
    // Class 08: connection exceptions; 57P: the server stops, or an operator stopped us (Postgres manual, appendix A).
    ends || said.code().code().starts_with("08") || said.code().code().starts_with("57P")
}

/// Whether trying again can help.
pub(super) fn is_passing(error: &Error) -> bool {
    let Some(code) = error.code() else { return false };
    [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::QUERY_CANCELED,
        SqlState::TOO_MANY_CONNECTIONS,
    ]
    .contains(code)
}

/// The store is being closed.
pub(super) fn stopped() -> StoreError {
    StoreError::Failed("the store has been closed".into())
}
