//! SQLite: key-value pairs.

use rusqlite::OptionalExtension;
use toolcrib_core::{BoxFuture, KeyValueStore, StoreError};

use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const PUT: &str = "INSERT INTO facts (name, value) VALUES (?1, ?2)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value";

impl KeyValueStore for SqliteStore {
    fn put_value<'a>(
        &'a self,
        name: &'a str,
        value: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.write(Durability::ProcessCrash, move |conn| {
            conn.prepare_cached(PUT)?.execute((name, value))?;
            Ok(())
        })
    }

    fn value<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let name = name.to_owned();
        self.read(move |conn| {
            let mut statement = conn.prepare_cached("SELECT value FROM facts WHERE name = ?1")?;
            Ok(statement.query_row([name], |row| row.get(0)).optional()?)
        })
    }
}
