//! The store traits of `core`, one file per kind of row.

mod approvals;
pub(crate) mod artifacts;
pub(crate) mod audit;
mod batches;
mod call_row;
mod calls;
mod checkpoints;
mod conversations;
mod facts;
mod grants;
mod history;
mod queued;
mod runs;
mod switches;
mod tokens;
mod usage;
mod workers;

pub(crate) use queued::Queued;
use rusqlite::Row;

use crate::error::Failure;

/// Text of a column, without a copy.
fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, Failure> {
    Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
}

/// A limit as SQLite takes it.
fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
