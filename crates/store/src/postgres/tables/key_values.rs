//! Postgres: key-value pairs.

use toolcrib_core::{BoxFuture, KeyValueStore, StoreError};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::text;
use crate::writer::Durability;

const PUT: &str = "INSERT INTO facts (name, value) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value";
const GET: &str = "SELECT value FROM facts WHERE name = $1";

impl KeyValueStore for PostgresStore {
    fn put_value<'a>(
        &'a self,
        name: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write(Put { name: name.to_owned(), value: value.to_owned() })
    }

    fn value<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(
            async move { self.fetch_optional(GET, &[&escape(name)], |row| text(row, 0)).await },
        )
    }
}

struct Put {
    name: String,
    value: String,
}

impl Job for Put {
    type Answer = ();

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(PUT)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            tx.link.execute(PUT, &[&escape(&self.name), &escape(&self.value)]).await?;
            Ok(JobOutput::unaudited(()))
        })
    }
}
