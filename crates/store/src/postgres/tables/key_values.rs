//! Postgres: key-value pairs.

use toolcrib_core::{BoxFuture, KeyValueStore, StoreError};

use super::super::PostgresStore;
use super::super::text_escape::escape;
use super::statement::{Param, Statement};
use super::text;

const PUT: &str = "INSERT INTO facts (name, value) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value";
const GET: &str = "SELECT value FROM facts WHERE name = $1";

impl KeyValueStore for PostgresStore {
    fn put_value<'a>(
        &'a self,
        name: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let params: Vec<Param> =
            vec![Box::new(escape(name).into_owned()), Box::new(escape(value).into_owned())];
        self.write(Statement::new(PUT, params).until_power_loss())
    }

    fn value<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(
            async move { self.fetch_optional(GET, &[&escape(name)], |row| text(row, 0)).await },
        )
    }
}
