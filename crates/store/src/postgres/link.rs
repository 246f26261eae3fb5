//! One connection: set up the same way each time, with the statements that it has prepared.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, NoTls, Row, Statement};

use super::address::Address;

/// How long a statement may wait for a row that another process holds.
const LOCK: Duration = Duration::from_secs(10);
/// How long a statement may run.
const STATEMENT: Duration = Duration::from_secs(60);

/// Values of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Makes connections. Their work is done on the store's own thread.
#[derive(Clone)]
pub(super) struct Connector {
    address: Address,
    runtime: Handle,
    /// A transaction of a process that is paused in the middle is ended after this, so that it holds up nobody for longer.
    idle: Duration,
}

impl Connector {
    pub(super) fn new(address: Address, runtime: Handle, idle: Duration) -> Self {
        Self { address, runtime, idle }
    }

    /// Host and database, for words to people.
    pub(super) fn place(&self) -> &str {
        &self.address.place
    }

    /// A new connection; can be awaited on any thread.
    pub(super) async fn link(&self) -> Result<Link, Error> {
        let connector = self.clone();
        let connected = self.runtime.spawn(async move {
            let client = connector.connect().await?;
            client.batch_execute(&connector.settings()).await?;
            Ok(Link { client, statements: Mutex::default() })
        });
        // A panic in there would have been reported; the runtime ends with the store only.
        connected.await.unwrap_or_else(|_| Err(Error::__private_api_timeout()))
    }

    async fn connect(&self) -> Result<Client, Error> {
        let config = &self.address.config;
        match &self.address.tls {
            Some(tls) => {
                let (client, connection) = config.connect(tls.clone()).await?;
                self.runtime.spawn(connection);
                Ok(client)
            }
            None => {
                let (client, connection) = config.connect(NoTls).await?;
                self.runtime.spawn(connection);
                Ok(client)
            }
        }
    }

    /// What every connection is set to. What the server was told to do for its commits stands, unless it was told to do nothing.
    fn settings(&self) -> String {
        format!(
            "SET client_min_messages = warning; SET standard_conforming_strings = on;
             SET lock_timeout = {}; SET statement_timeout = {};
             SET idle_in_transaction_session_timeout = {};
             SELECT set_config('synchronous_commit', 'on', false)
             WHERE current_setting('synchronous_commit') = 'off'",
            LOCK.as_millis(),
            STATEMENT.as_millis(),
            self.idle.as_millis().max(1)
        )
    }
}

/// A connection.
pub(super) struct Link {
    client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
}

impl Link {
    /// Prepares a statement, once. What is prepared is sent when its future is polled first, so that statements go out in that order.
    pub(super) async fn prepare(&self, sql: &'static str) -> Result<Statement, Error> {
        if let Some(statement) = self.known(sql) {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        statements.insert(sql, statement.clone());
        Ok(statement)
    }

    fn known(&self, sql: &'static str) -> Option<Statement> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned()
    }

    pub(super) async fn query(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(sql).await?;
        self.client.query(&statement, params).await
    }

    /// The first row.
    pub(super) async fn first(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Option<Row>, Error> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }

    /// How many rows were written.
    pub(super) async fn execute(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<u64, Error> {
        let statement = self.prepare(sql).await?;
        self.client.execute(&statement, params).await
    }

    /// A statement that is put together for this once.
    pub(super) async fn query_once(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, Error> {
        self.client.query(sql, params).await
    }

    /// Statements without values.
    pub(super) async fn run(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}
