//! The tables, as migrations that only go forward, all that are missing in one transaction.

use tokio_postgres::Error;

use super::error::{ConnectError, words};
use super::link::Link;

/// Every migration there is; one that has been released never changes.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/001.sql"),
    include_str!("migrations/002.sql"),
    include_str!("migrations/003.sql"),
    include_str!("migrations/004.sql"),
];

/// Whoever migrates holds this lock of the database: "TCRB".
const LOCK: &str = "SELECT pg_advisory_xact_lock(1413697090)";
/// The marker: a table of this name and shape is ours.
const MARK: &str = "CREATE TABLE toolcrib_schema (version integer NOT NULL)";
/// Looked for in the table of tables: what a connection remembers of names may be from before it waited for the lock.
const MARKED: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relname = 'toolcrib_schema')";
const VERSION: &str = "SELECT version FROM toolcrib_schema";
/// Whether there is anything where our tables would be.
const OCCUPIED: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f'))";
const ENCODING: &str = "SELECT current_setting('server_encoding')";

/// How a try ended.
enum Ended {
    Ready,
    NotUtf8(String),
    OtherApplication,
    Newer(i32),
}

/// Makes or brings up to date the tables of a database that is ours or empty; any other is left as it is.
pub(super) async fn migrate(link: &Link, place: &str) -> Result<(), ConnectError> {
    let known = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
    let place = place.to_owned();
    match step(link, known).await {
        Ok(Ended::Ready) => Ok(()),
        Ok(Ended::NotUtf8(encoding)) => Err(ConnectError::NotUtf8 { place, encoding }),
        Ok(Ended::OtherApplication) => Err(ConnectError::OtherApplication { place }),
        Ok(Ended::Newer(found)) => Err(ConnectError::Newer { place, found, known }),
        Err(error) => Err(ConnectError::Failed { place, reason: words(&error) }),
    }
}

async fn step(link: &Link, known: i32) -> Result<Ended, Error> {
    if let Some(row) = link.query_once(ENCODING, &[]).await?.first() {
        let encoding: String = row.try_get(0)?;
        if encoding != "UTF8" {
            return Ok(Ended::NotUtf8(encoding));
        }
    }
    if version(link).await? == Some(known) {
        return Ok(Ended::Ready);
    }
    // Waits for another that migrates, however long that takes.
    link.run("BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0").await?;
    link.run(LOCK).await?;
    let ended = forward(link, known).await?;
    link.run(if matches!(ended, Ended::Ready) { "COMMIT" } else { "ROLLBACK" }).await?;
    Ok(ended)
}

/// Applies what is missing, with the lock in hand.
async fn forward(link: &Link, known: i32) -> Result<Ended, Error> {
    let found = match version(link).await? {
        Some(found) if (0..=known).contains(&found) => found,
        Some(found) => return Ok(Ended::Newer(found)),
        None if is_true(link, OCCUPIED).await? => return Ok(Ended::OtherApplication),
        None => {
            link.run(MARK).await?;
            link.run("INSERT INTO toolcrib_schema VALUES (0)").await?;
            0
        }
    };
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        link.run(migration).await?;
        link.run("UPDATE toolcrib_schema SET version = version + 1").await?;
    }
    Ok(Ended::Ready)
}

/// `None` = the marker is not there.
async fn version(link: &Link) -> Result<Option<i32>, Error> {
    if !is_true(link, MARKED).await? {
        return Ok(None);
    }
    let rows = link.query_once(VERSION, &[]).await?;
    rows.first().map_or(Ok(Some(-1)), |row| row.try_get(0).map(Some))
}

async fn is_true(link: &Link, sql: &str) -> Result<bool, Error> {
    let rows = link.query_once(sql, &[]).await?;
    rows.first().map_or(Ok(false), |row| row.try_get(0))
}
