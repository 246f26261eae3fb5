//! Facts by name.

use rusqlite::OptionalExtension;
use toolcrib_core::{BoxFuture, FactStore, StoreError};

use crate::store::SqliteStore;
use crate::writer::Survives;

const PUT: &str = "INSERT INTO facts (name, value) VALUES (?1, ?2)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value";

impl FactStore for SqliteStore {
    fn put_fact<'a>(
        &'a self,
        name: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.write(Survives::Kill, move |conn| {
            conn.prepare_cached(PUT)?.execute((name, value))?;
            Ok(())
        })
    }

    fn fact<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let name = name.to_owned();
        self.read(move |conn| {
            let mut statement = conn.prepare_cached("SELECT value FROM facts WHERE name = ?1")?;
            Ok(statement.query_row([name], |row| row.get(0)).optional()?)
        })
    }
}
