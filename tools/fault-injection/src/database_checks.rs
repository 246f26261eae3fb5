//! Looking at a database from outside, and making one as the first version of the tables had it.

use std::path::Path;

use rusqlite::Connection;

use crate::error::Result;
use crate::report::Tally;

/// The tables as they were first.
const FIRST: &str = include_str!("../../../crates/store/src/migrations/001.sql");
/// "TCRB", which marks a database as one of ours.
const APPLICATION: i32 = 0x5443_5242;
/// Rows of it.
const ROWS: u32 = 50;

/// Makes a database of the first version with rows in it.
pub(crate) fn make_first_version(path: &Path) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut conn = Connection::open(path)?;
    conn.pragma_update(None, "journal_mode", "wal")?;
    let transaction = conn.transaction()?;
    transaction.execute_batch(FIRST)?;
    for row in 0..ROWS {
        transaction.execute(
            "INSERT INTO facts (name, value) VALUES (?1, ?2)",
            (format!("fact {row}"), format!("value {row}")),
        )?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", 1)?;
    Ok(transaction.commit()?)
}

/// Whether those rows are still there.
pub(crate) fn check_first_version(path: &Path, tally: &mut Tally) -> Result<()> {
    let conn = Connection::open(path)?;
    let rows: u32 = conn.query_row(
        "SELECT count(*) FROM facts WHERE value = replace(name, 'fact', 'value')",
        [],
        |row| row.get(0),
    )?;
    if rows != ROWS {
        tally.lost(format!("{rows} of {ROWS} rows came through the migration"));
    }
    Ok(())
}

/// Whether SQLite finds the file whole.
pub(crate) fn check_integrity(path: &Path, tally: &mut Tally) -> Result<()> {
    let conn = Connection::open(path)?;
    let verdict: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if verdict != "ok" {
        tally.contradiction(format!("integrity check: {verdict}"));
    }
    Ok(())
}
