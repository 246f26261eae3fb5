//! Postgres: feature switches.

use tokio_postgres::Row;
use toolcrib_core::{AuditEvent, BoxFuture, StoreError, Switch, SwitchState, SwitchStore};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::text;

const SET: &str = "INSERT INTO switches (owner, name, state, by, at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (owner, name) DO UPDATE SET state = excluded.state, by = excluded.by, at = excluded.at";
const UNSET: &str = "DELETE FROM switches WHERE owner = $1 AND name = $2";
const LIST: &str = "SELECT owner, name, state, by, at FROM switches WHERE owner = $1 ORDER BY name";

impl SwitchStore for PostgresStore {
    fn set_switch(&self, switch: Switch) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Set(switch))
    }

    fn unset_switch<'a>(
        &'a self,
        owner: &'a str,
        name: &'a str,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (owner, name, by) = (owner.to_owned(), name.to_owned(), by.to_owned());
        // The audit event ignores the state: the switch is removed.
        self.write(Unset(Switch { owner, name, state: SwitchState::Off, by, at }))
    }

    fn switches<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Switch>, StoreError>> {
        Box::pin(async move { self.fetch_all(LIST, &[&escape(owner)], switch).await })
    }
}

struct Set(Switch);

impl Job for Set {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(SET)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let Switch { owner, name, state, by, at } = &self.0;
            let word = state.as_str();
            let words = [owner, name, by].map(|word| escape(word));
            tx.link.execute(SET, &[&words[0], &words[1], &word, &words[2], at]).await?;
            Ok(JobOutput::audited((), AuditEvent::switched(&self.0, Some(*state))))
        })
    }
}

struct Unset(Switch);

impl Job for Unset {
    type Answer = bool;

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(UNSET)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<bool>, Failure>> {
        Box::pin(async move {
            let key = (escape(&self.0.owner), escape(&self.0.name));
            Ok(match tx.link.execute(UNSET, &[&key.0, &key.1]).await? {
                0 => JobOutput::unaudited(false),
                _ => JobOutput::audited(true, AuditEvent::switched(&self.0, None)),
            })
        })
    }
}

fn switch(row: &Row) -> Result<Switch, Failure> {
    Ok(Switch {
        owner: text(row, 0)?,
        name: text(row, 1)?,
        state: state(row.try_get(2)?)?,
        by: text(row, 3)?,
        at: row.try_get(4)?,
    })
}

/// Parses a state. An unknown state is an error: ignoring it could enable a disabled item.
fn state(word: &str) -> Result<SwitchState, Failure> {
    word.parse().map_err(|why| StoreError::Failed(why).into())
}
