//! `toolcrib db migrate`: migrations as a separate step.

use serde_json::json;
use toolcrib_store::{SchemaVersion, SqliteStore, schema_version};

use crate::bootstrap::{self, StoreKind};
use crate::clap_args::{Db, DbMigrate};
use crate::output::{self, Failure};

/// Exit code of `--check` if migrations are pending.
const PENDING: u8 = 1;

pub(super) fn run(command: &Db, json: bool) -> Result<u8, Failure> {
    let Db::Migrate(DbMigrate { check }) = command;
    let version = match StoreKind::from_env()? {
        StoreKind::InMemory => {
            return Err(Failure::usage("a database in memory has no migrations"));
        }
        StoreKind::InFile => file(*check)?,
        StoreKind::Shared(url) => shared(&url, *check)?,
    };
    report(version, *check, json)
}

fn unusable(error: impl std::fmt::Display) -> Failure {
    Failure::configuration(error.to_string())
}

/// Migrates the file, unless `check`; returns its former version.
fn file(check: bool) -> Result<SchemaVersion, Failure> {
    let path = bootstrap::database_path()?;
    let before = schema_version(&path).map_err(unusable)?;
    if !check {
        SqliteStore::open(&path).map_err(unusable)?;
    }
    Ok(before)
}

/// Migrates the shared database, unless `check`; returns its former version.
#[cfg(feature = "postgres")]
fn shared(url: &str, check: bool) -> Result<SchemaVersion, Failure> {
    use toolcrib_store::PostgresStore;
    bootstrap::block_on(async {
        let version = if check {
            PostgresStore::schema_version(url).await
        } else {
            PostgresStore::migrate(url).await
        };
        version.map_err(unusable)
    })
}

#[cfg(not(feature = "postgres"))]
fn shared(_url: &str, _check: bool) -> Result<SchemaVersion, Failure> {
    Err(bootstrap::without_postgres())
}

fn report(before: SchemaVersion, check: bool, json: bool) -> Result<u8, Failure> {
    let SchemaVersion { found, known } = before;
    let is_pending = before.is_pending();
    if json {
        let row = json!({
            "version": if check { found } else { Some(known) },
            "before": found,
            "known": known,
            "pending": check && is_pending,
        });
        output::print_json(&row, true)?;
    } else {
        output::print_line(&text(found, known, is_pending, check))?;
    }
    Ok(if check && is_pending { PENDING } else { 0 })
}

fn text(found: Option<i32>, known: i32, is_pending: bool, check: bool) -> String {
    let missing = known - found.unwrap_or(0);
    match (found, is_pending, check) {
        (_, false, _) => format!("the database is up to date: version {known}"),
        (None, true, true) => {
            "the database has no tables yet; `toolcrib db migrate` creates them".to_owned()
        }
        (Some(found), true, true) => format!(
            "{missing} migrations are missing: the database has version {found}, this Toolcrib needs version {known}; \
             `toolcrib db migrate` applies them"
        ),
        (None, true, false) => format!("the tables were created: version {known}"),
        (Some(found), true, false) => {
            format!("{missing} migrations were applied: from version {found} to version {known}")
        }
    }
}
