//! Facts by name.

use toolcrib_core::{BoxFuture, FactStore, StoreError};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Done, Job, Tx};
use super::super::text::column;
use super::text;
use crate::writer::Survives;

const PUT: &str = "INSERT INTO facts (name, value) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value";
const GET: &str = "SELECT value FROM facts WHERE name = $1";

impl FactStore for PostgresStore {
    fn put_fact<'a>(
        &'a self,
        name: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write(Put { name: name.to_owned(), value: value.to_owned() })
    }

    fn fact<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async move { self.one(GET, &[&column(name)], |row| text(row, 0)).await })
    }
}

struct Put {
    name: String,
    value: String,
}

impl Job for Put {
    type Answer = ();

    fn survives(&self) -> Survives {
        Survives::Kill
    }

    fn begins_with(&self) -> Option<&'static str> {
        Some(PUT)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<Done<()>, Failure>> {
        Box::pin(async move {
            tx.link.execute(PUT, &[&column(&self.name), &column(&self.value)]).await?;
            Ok(Done::quiet(()))
        })
    }
}
