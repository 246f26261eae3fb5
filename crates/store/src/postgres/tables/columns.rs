//! Converts values to columns of Postgres and back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;

use crate::postgres::error::Failure;

/// Returns the JSON text of a value.
pub(super) fn write<T: Serialize>(value: &T) -> Result<String, Failure> {
    Ok(crate::json::write(value)?)
}

/// Reads the value of a JSON column.
pub(super) fn read<T: DeserializeOwned>(row: &Row, column: usize) -> Result<T, Failure> {
    Ok(crate::json::read(row.try_get::<_, &str>(column)?)?)
}

/// Reads the value of a nullable JSON column.
pub(super) fn read_or_none<T: DeserializeOwned>(
    row: &Row,
    column: usize,
) -> Result<Option<T>, Failure> {
    let text: Option<&str> = row.try_get(column)?;
    Ok(text.map(crate::json::read).transpose()?)
}

/// Reads the unescaped text of a column.
pub(super) fn text(row: &Row, column: usize) -> Result<String, Failure> {
    Ok(crate::postgres::text_escape::unescape(row.try_get(column)?))
}

/// Reads a number that is never negative.
pub(super) fn number(row: &Row, column: usize) -> Result<u64, Failure> {
    Ok(u64::try_from(row.try_get::<_, i64>(column)?)?)
}

/// Converts a limit to a Postgres integer.
pub(super) fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Converts a number to a column value. No row has a number too large for its column.
pub(super) fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
