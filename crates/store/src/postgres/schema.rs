//! Schema migrations of the Postgres store. They only go forward; all missing ones run in one
//! transaction.

use tokio_postgres::Error;

use super::connection::Connection;
use super::error::{ConnectError, message};
use crate::SchemaVersion;

/// All migrations. A released migration never changes.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/001.sql"),
    include_str!("migrations/002.sql"),
    include_str!("migrations/003.sql"),
    include_str!("migrations/004.sql"),
    include_str!("migrations/005.sql"),
    include_str!("migrations/006.sql"),
    include_str!("migrations/007.sql"),
    include_str!("migrations/008.sql"),
    include_str!("migrations/009.sql"),
    include_str!("migrations/010.sql"),
    include_str!("migrations/011.sql"),
    include_str!("migrations/012.sql"),
    include_str!("migrations/013.sql"),
];

/// Advisory lock for migrations. The number is "TCRB" in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1413697090)";
/// Marker table: its existence identifies a Toolcrib database.
const MARK: &str = "CREATE TABLE toolcrib_schema (version integer NOT NULL)";
/// Queries the catalog, because a session's cached name lookups may be older than its wait for the
/// lock.
const MARKED: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relname = 'toolcrib_schema')";
const VERSION: &str = "SELECT version FROM toolcrib_schema";
/// Whether the schema contains any relation.
const OCCUPIED: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f'))";
const ENCODING: &str = "SELECT current_setting('server_encoding')";

/// Result of inspecting a database, or of a migration attempt.
enum MigrationResult {
    /// The version before migrations were applied; `None` if there were no tables.
    Ready(Option<i32>),
    NotUtf8(String),
    OtherApplication,
    Newer(i32),
}

impl MigrationResult {
    fn into_version(self, known: i32, place: &str) -> Result<SchemaVersion, ConnectError> {
        let place = place.to_owned();
        match self {
            Self::Ready(found) => Ok(SchemaVersion { found, known }),
            Self::NotUtf8(encoding) => Err(ConnectError::NotUtf8 { place, encoding }),
            Self::OtherApplication => Err(ConnectError::OtherApplication { place }),
            Self::Newer(found) => Err(ConnectError::Newer { place, found, known }),
        }
    }
}

/// Returns the number of migrations that this build knows.
fn known() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

fn failed(place: &str, error: &Error) -> ConnectError {
    ConnectError::Failed { place: place.to_owned(), reason: message(error) }
}

/// Creates or migrates the tables of an empty or Toolcrib database; leaves any other unchanged.
/// Returns the previous version.
pub(super) async fn migrate(link: &Connection, place: &str) -> Result<SchemaVersion, ConnectError> {
    let ended = step(link, known()).await.map_err(|error| failed(place, &error))?;
    ended.into_version(known(), place)
}

/// Returns the version of an empty or Toolcrib database; changes nothing.
pub(super) async fn look_up(link: &Connection, place: &str) -> Result<SchemaVersion, ConnectError> {
    let found = look(link, known()).await.map_err(|error| failed(place, &error))?;
    found.into_version(known(), place)
}

/// Refuses a database whose migrations are not all applied.
pub(super) async fn require_current(link: &Connection, place: &str) -> Result<(), ConnectError> {
    let version = look_up(link, place).await?;
    if !version.is_pending() {
        return Ok(());
    }
    let SchemaVersion { found, known } = version;
    Err(ConnectError::Pending { place: place.to_owned(), found: found.unwrap_or(0), known })
}

async fn look(link: &Connection, known: i32) -> Result<MigrationResult, Error> {
    if let Some(encoding) = other_encoding(link).await? {
        return Ok(MigrationResult::NotUtf8(encoding));
    }
    Ok(match version(link).await? {
        Some(found) if (0..=known).contains(&found) => MigrationResult::Ready(Some(found)),
        Some(found) => MigrationResult::Newer(found),
        None if is_true(link, OCCUPIED).await? => MigrationResult::OtherApplication,
        None => MigrationResult::Ready(None),
    })
}

/// Returns the encoding of the database, if it is not UTF8.
async fn other_encoding(link: &Connection) -> Result<Option<String>, Error> {
    let rows = link.query_once(ENCODING, &[]).await?;
    let encoding: Option<String> = rows.first().map(|row| row.try_get(0)).transpose()?;
    Ok(encoding.filter(|encoding| encoding != "UTF8"))
}

async fn step(link: &Connection, known: i32) -> Result<MigrationResult, Error> {
    if let Some(encoding) = other_encoding(link).await? {
        return Ok(MigrationResult::NotUtf8(encoding));
    }
    if version(link).await? == Some(known) {
        return Ok(MigrationResult::Ready(Some(known)));
    }
    // Waits for another migration without a limit.
    link.batch_execute("BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")
        .await?;
    link.batch_execute(LOCK).await?;
    let ended = forward(link, known).await?;
    link.batch_execute(if matches!(ended, MigrationResult::Ready(_)) {
        "COMMIT"
    } else {
        "ROLLBACK"
    })
    .await?;
    Ok(ended)
}

/// Applies the missing migrations, with the lock held.
async fn forward(link: &Connection, known: i32) -> Result<MigrationResult, Error> {
    let before = version(link).await?;
    let found = match before {
        Some(found) if (0..=known).contains(&found) => found,
        Some(found) => return Ok(MigrationResult::Newer(found)),
        None if is_true(link, OCCUPIED).await? => return Ok(MigrationResult::OtherApplication),
        None => {
            link.batch_execute(MARK).await?;
            link.batch_execute("INSERT INTO toolcrib_schema VALUES (0)").await?;
            0
        }
    };
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        link.batch_execute(migration).await?;
        link.batch_execute("UPDATE toolcrib_schema SET version = version + 1").await?;
    }
    Ok(MigrationResult::Ready(before))
}

/// Returns the version; `None` if the marker table does not exist.
async fn version(link: &Connection) -> Result<Option<i32>, Error> {
    if !is_true(link, MARKED).await? {
        return Ok(None);
    }
    let rows = link.query_once(VERSION, &[]).await?;
    rows.first().map_or(Ok(Some(-1)), |row| row.try_get(0).map(Some))
}

async fn is_true(link: &Connection, sql: &str) -> Result<bool, Error> {
    let rows = link.query_once(sql, &[]).await?;
    rows.first().map_or(Ok(false), |row| row.try_get(0))
}
