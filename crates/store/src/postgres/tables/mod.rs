//! Postgres implementations of the store traits of `core`, one file per table.

mod approvals;
pub(super) mod artifacts;
mod assistant_rows;
pub(super) mod audit;
mod batches;
mod calls;
mod checkpoints;
mod claims;
mod conversations;
mod document_chunks;
mod grants;
mod history;
mod key_values;
mod members;
mod memories;
mod notifications;
mod recovery;
mod runs;
mod settle;
mod switches;
mod tasks;
mod tokens;
mod usage;

use std::future::ready;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use toolcrib_core::BoxFuture;

use super::error::Failure;
use super::job::{Job, JobOutput, Tx};
use crate::writer::Durability;

/// First statement of [`NoOp`].
const NOTHING: &str = "SELECT";

/// A job that writes nothing: it waits for the jobs before it.
pub(super) struct NoOp;

/// Writes nothing; committed after every earlier job, including those that wait for the server.
pub(super) struct Flush;

impl Job for Flush {
    type Answer = ();

    fn durability(&self) -> Durability {
        NoOp.durability()
    }

    fn outlives_outage(&self) -> bool {
        true
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        NoOp.pipelined_statement()
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        NoOp.run(tx)
    }
}

impl Job for NoOp {
    type Answer = ();

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(NOTHING)
    }

    fn run<'a>(&'a self, _: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(ready(Ok(JobOutput::unaudited(()))))
    }
}

/// Returns the JSON text of a value.
fn write<T: Serialize>(value: &T) -> Result<String, Failure> {
    Ok(crate::json::write(value)?)
}

/// Reads the value of a JSON column.
fn read<T: DeserializeOwned>(row: &Row, column: usize) -> Result<T, Failure> {
    Ok(crate::json::read(row.try_get::<_, &str>(column)?)?)
}

/// Reads the value of a nullable JSON column.
fn read_or_none<T: DeserializeOwned>(row: &Row, column: usize) -> Result<Option<T>, Failure> {
    let text: Option<&str> = row.try_get(column)?;
    Ok(text.map(crate::json::read).transpose()?)
}

/// Reads the unescaped text of a column.
fn text(row: &Row, column: usize) -> Result<String, Failure> {
    Ok(super::text_escape::unescape(row.try_get(column)?))
}

/// Reads a number that is never negative.
fn number(row: &Row, column: usize) -> Result<u64, Failure> {
    Ok(u64::try_from(row.try_get::<_, i64>(column)?)?)
}

/// Converts a limit to a Postgres integer.
fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Converts a number to a column value. No row has a number too large for its column.
fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
