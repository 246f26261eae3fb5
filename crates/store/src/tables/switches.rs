//! SQLite: feature switches. Each change is one transaction with its audit record.

use rusqlite::{Connection, Row};
use toolcrib_core::{AuditEvent, BoxFuture, StoreError, Switch, SwitchState, SwitchStore};

use super::audit;
use crate::error::Failure;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const SET: &str = "INSERT INTO switches (owner, name, state, by, at) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (owner, name) DO UPDATE SET state = excluded.state, by = excluded.by, at = excluded.at";
const UNSET: &str = "DELETE FROM switches WHERE owner = ?1 AND name = ?2";
const LIST: &str = "SELECT owner, name, state, by, at FROM switches WHERE owner = ?1 ORDER BY name";

impl SwitchStore for SqliteStore {
    fn set_switch(&self, switch: Switch) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::PowerLoss, move |conn| set(conn, &switch))
    }

    fn unset_switch<'a>(
        &'a self,
        owner: &'a str,
        name: &'a str,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        // The audit event ignores the state: the switch is removed.
        let gone = Switch {
            owner: owner.to_owned(),
            name: name.to_owned(),
            state: SwitchState::Off,
            by: by.to_owned(),
            at,
        };
        self.write(Durability::PowerLoss, move |conn| unset(conn, &gone))
    }

    fn switches<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Switch>, StoreError>> {
        let key = [owner.to_owned()];
        self.read(move |conn| conn.prepare_cached(LIST)?.query_and_then(key, switch)?.collect())
    }
}

fn set(conn: &Connection, switch: &Switch) -> Result<(), Failure> {
    let row = (&switch.owner, &switch.name, switch.state.as_str(), &switch.by, switch.at);
    conn.prepare_cached(SET)?.execute(row)?;
    audit::append(conn, &AuditEvent::switched(switch, Some(switch.state)))
}

fn unset(conn: &Connection, gone: &Switch) -> Result<bool, Failure> {
    let was_there = conn.prepare_cached(UNSET)?.execute((&gone.owner, &gone.name))? > 0;
    if was_there {
        audit::append(conn, &AuditEvent::switched(gone, None))?;
    }
    Ok(was_there)
}

fn switch(row: &Row<'_>) -> Result<Switch, Failure> {
    Ok(Switch {
        owner: row.get(0)?,
        name: row.get(1)?,
        state: state(&row.get::<_, String>(2)?)?,
        by: row.get(3)?,
        at: row.get(4)?,
    })
}

/// Parses a state. An unknown state is an error: ignoring it could enable a disabled item.
fn state(word: &str) -> Result<SwitchState, Failure> {
    word.parse().map_err(|why| StoreError::Failed(why).into())
}
