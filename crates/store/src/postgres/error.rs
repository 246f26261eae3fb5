//! Errors of the Postgres store: connecting, and a write inside a transaction.

use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};
use toolcrib_core::StoreError;

/// Error of opening a database, which is unchanged. No message contains a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The URL is invalid.
    #[error(
        "the address of the database cannot be read: {0}; its form is postgres://USER@HOST/DATABASE"
    )]
    BadUrl(&'static str),
    /// The CA certificates cannot be read.
    #[error("cannot set up TLS for the database: {0}")]
    Tls(String),
    /// The server cannot be reached or refuses the login.
    #[error("cannot connect to the database {place}: {reason}")]
    Unreachable {
        /// Host and database.
        place: String,
        /// The error of the system or the server.
        reason: String,
    },
    /// The database has another encoding than UTF8.
    #[error(
        "the database {place} stores text as {encoding}; Toolcrib needs a database with the encoding UTF8"
    )]
    NotUtf8 {
        /// Host and database.
        place: String,
        /// Its encoding.
        encoding: String,
    },
    /// The database has tables of another application.
    #[error("the database {place} is not a Toolcrib store: it has tables of another application")]
    OtherApplication {
        /// Host and database.
        place: String,
    },
    /// The database was written by a newer Toolcrib, whose tables this build does not know.
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
    /// Migrations are missing, and this process does not apply them.
    #[error(
        "the store in the database {place} has version {found}, this Toolcrib needs version {known}: apply the missing migrations with `toolcrib db migrate`"
    )]
    Pending {
        /// Host and database.
        place: String,
        /// Version of the tables; 0 if there are none.
        found: i32,
        /// Version that this build needs.
        known: i32,
    },
    /// The tables could not be created or migrated.
    #[error("cannot open the store in the database {place}: {reason}")]
    Failed {
        /// Host and database.
        place: String,
        /// The server's error.
        reason: String,
    },
}

/// Error of one write inside a transaction.
#[derive(Debug)]
pub(super) enum Failure {
    /// A refusal, returned to the caller unchanged; nothing was written.
    Answer(StoreError),
    /// The database failed, and with it the transaction.
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

/// Maps a database error to a store error.
pub(super) fn store_error(error: &Error) -> StoreError {
    let words = message(error);
    if is_connection_lost(error) || is_transient(error) {
        return StoreError::Busy(words);
    }
    match error.code() {
        Some(code) if *code == SqlState::DISK_FULL => StoreError::Full(words),
        _ => StoreError::Failed(words),
    }
}

/// Returns the message of the server or the system, without row values (which the server's details
/// may quote).
pub(super) fn message(error: &Error) -> String {
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

/// Returns whether the connection is lost: the state of its transaction must be read back on
/// another connection.
pub(super) fn is_connection_lost(error: &Error) -> bool {
    let Some(said) = error.as_db_error() else {
        let source = std::error::Error::source(error);
        return error.is_closed() || source.is_some_and(|cause| cause.is::<std::io::Error>());
    };
    let ends = matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
    // Class 08: connection exceptions; 57P: server shutdown or session termination (PostgreSQL
    // manual, appendix A).
    ends || said.code().code().starts_with("08") || said.code().code().starts_with("57P")
}

/// Returns whether a retry can succeed.
pub(super) fn is_transient(error: &Error) -> bool {
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

/// Returns the error of a store that is being closed.
pub(super) fn stopped() -> StoreError {
    StoreError::Failed("the store has been closed".into())
}
