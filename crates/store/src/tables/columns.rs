//! Converts values to columns of SQLite and back.

use rusqlite::Row;

use crate::error::Failure;

/// Returns the borrowed text of a column.
pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, Failure> {
    Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
}

/// Converts a limit to an SQLite integer.
pub(super) fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
