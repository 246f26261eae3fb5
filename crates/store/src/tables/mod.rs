//! SQLite implementations of the store traits of `core`, one file per table.

mod approvals;
pub(crate) mod artifacts;
mod assistant_rows;
pub(crate) mod audit;
mod batches;
mod call_row;
mod calls;
mod checkpoints;
mod claims;
mod conversations;
mod document_chunks;
mod grants;
mod history;
mod key_values;
mod memories;
mod notifications;
mod pending_intents;
mod runs;
mod switches;
mod tasks;
mod tokens;
mod usage;

pub(crate) use pending_intents::PendingIntents;
use rusqlite::Row;

use crate::error::Failure;

/// Returns the borrowed text of a column.
fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, Failure> {
    Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
}

/// Converts a limit to an SQLite integer.
fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
