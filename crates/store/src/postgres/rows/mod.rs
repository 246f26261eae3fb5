//! The store traits of `core`, one file per kind of row.

mod approvals;
pub(super) mod audit;
mod batches;
mod calls;
mod checkpoints;
mod claims;
mod conversations;
mod facts;
mod grants;
mod history;
mod recover;
mod runs;
mod settle;
mod switches;
mod tokens;
mod usage;

use std::future::ready;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use toolcrib_core::BoxFuture;

use super::error::Failure;
use super::job::{Done, Job, Tx};
use crate::writer::Survives;

/// What a write of nothing begins with.
const NOTHING: &str = "SELECT";

/// A write of nothing: it waits for those before it.
pub(super) struct Nothing;

impl Job for Nothing {
    type Answer = ();

    fn survives(&self) -> Survives {
        Survives::Kill
    }

    fn begins_with(&self) -> Option<&'static str> {
        Some(NOTHING)
    }

    fn run<'a>(&'a self, _: &'a Tx<'_>) -> BoxFuture<'a, Result<Done<()>, Failure>> {
        Box::pin(ready(Ok(Done::quiet(()))))
    }
}

/// The text that a column keeps.
fn write<T: Serialize>(value: &T) -> Result<String, Failure> {
    Ok(crate::json::write(value)?)
}

/// The value whose JSON a column keeps.
fn read<T: DeserializeOwned>(row: &Row, column: usize) -> Result<T, Failure> {
    Ok(crate::json::read(row.try_get::<_, &str>(column)?)?)
}

/// The same of a column that may hold nothing.
fn read_or_none<T: DeserializeOwned>(row: &Row, column: usize) -> Result<Option<T>, Failure> {
    let text: Option<&str> = row.try_get(column)?;
    Ok(text.map(crate::json::read).transpose()?)
}

/// Text as it was given.
fn text(row: &Row, column: usize) -> Result<String, Failure> {
    Ok(super::text::value(row.try_get(column)?))
}

/// A number that is never negative.
fn number(row: &Row, column: usize) -> Result<u64, Failure> {
    Ok(u64::try_from(row.try_get::<_, i64>(column)?)?)
}

/// A limit as Postgres takes it.
fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A number that a column keeps; one that is too large for it is that of nobody.
fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
