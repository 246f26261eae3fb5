//! Schema migrations of the Postgres store. They only go forward; all missing ones run in one
//! transaction.

use tokio_postgres::Error;

use super::connection::Connection;
use super::error::{ConnectError, message};

/// All migrations. A released migration never changes.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/001.sql"),
    include_str!("migrations/002.sql"),
    include_str!("migrations/003.sql"),
    include_str!("migrations/004.sql"),
    include_str!("migrations/005.sql"),
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

/// Result of a migration attempt.
enum MigrationResult {
    Ready,
    NotUtf8(String),
    OtherApplication,
    Newer(i32),
}

/// Creates or migrates the tables of an empty or Toolcrib database; leaves any other unchanged.
pub(super) async fn migrate(link: &Connection, place: &str) -> Result<(), ConnectError> {
    let known = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
    let place = place.to_owned();
    match step(link, known).await {
        Ok(MigrationResult::Ready) => Ok(()),
        Ok(MigrationResult::NotUtf8(encoding)) => Err(ConnectError::NotUtf8 { place, encoding }),
        Ok(MigrationResult::OtherApplication) => Err(ConnectError::OtherApplication { place }),
        Ok(MigrationResult::Newer(found)) => Err(ConnectError::Newer { place, found, known }),
        Err(error) => Err(ConnectError::Failed { place, reason: message(&error) }),
    }
}

async fn step(link: &Connection, known: i32) -> Result<MigrationResult, Error> {
    if let Some(row) = link.query_once(ENCODING, &[]).await?.first() {
        let encoding: String = row.try_get(0)?;
        if encoding != "UTF8" {
            return Ok(MigrationResult::NotUtf8(encoding));
        }
    }
    if version(link).await? == Some(known) {
        return Ok(MigrationResult::Ready);
    }
    // Waits for another migration without a limit.
    link.batch_execute("BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")
        .await?;
    link.batch_execute(LOCK).await?;
    let ended = forward(link, known).await?;
    link.batch_execute(if matches!(ended, MigrationResult::Ready) { "COMMIT" } else { "ROLLBACK" })
        .await?;
    Ok(ended)
}

/// Applies the missing migrations, with the lock held.
async fn forward(link: &Connection, known: i32) -> Result<MigrationResult, Error> {
    let found = match version(link).await? {
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
    Ok(MigrationResult::Ready)
}

/// `None` if the marker table does not exist.
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
