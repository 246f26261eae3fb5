//! A Postgres connection: session settings and prepared statements.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, NoTls, Row, Statement};

use super::connection_url::ConnectionUrl;
use super::figures::Figures;

/// How long a statement may wait for a row lock (`lock_timeout`).
const LOCK: Duration = Duration::from_secs(10);
/// How long a statement may run (`statement_timeout`).
const STATEMENT: Duration = Duration::from_secs(60);

/// Parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Opens connections. Their I/O runs on the store's own thread.
#[derive(Clone)]
pub(super) struct Connector {
    address: ConnectionUrl,
    runtime: Handle,
    /// `idle_in_transaction_session_timeout`: ends the transaction of a paused process, so that it
    /// cannot hold locks for longer.
    idle: Duration,
    figures: Arc<Figures>,
}

impl Connector {
    pub(super) fn new(address: ConnectionUrl, runtime: Handle, idle: Duration) -> Self {
        Self { address, runtime, idle, figures: Arc::default() }
    }

    /// Returns the counters of the store.
    pub(super) fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Returns host and database, for messages.
    pub(super) fn display_name(&self) -> &str {
        &self.address.place
    }

    /// Opens a connection; can be awaited on any thread.
    pub(super) async fn open(&self) -> Result<Connection, Error> {
        let connector = self.clone();
        let connected = self.runtime.spawn(async move {
            let client = connector.connect().await?;
            client.batch_execute(&connector.settings()).await?;
            let figures = Arc::clone(&connector.figures);
            Ok(Connection { client, statements: Mutex::default(), figures })
        });
        // A panic in the task would have been reported; the runtime ends only with the store.
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

    /// Returns the settings of every session. The server's own `synchronous_commit` is unchanged,
    /// unless it is off.
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

/// An open connection.
pub(super) struct Connection {
    client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
    figures: Arc<Figures>,
}

impl Connection {
    /// Returns the counters of the store.
    pub(super) fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Prepares a statement once. The request is sent at the first poll, so that statements go out
    /// in call order.
    pub(super) async fn prepare(&self, sql: &'static str) -> Result<Statement, Error> {
        if let Some(statement) = self.cached_statement(sql) {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        statements.insert(sql, statement.clone());
        Ok(statement)
    }

    fn cached_statement(&self, sql: &'static str) -> Option<Statement> {
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

    /// Returns the first row.
    pub(super) async fn query_optional(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Option<Row>, Error> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }

    /// Returns the number of changed rows.
    pub(super) async fn execute(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<u64, Error> {
        let statement = self.prepare(sql).await?;
        self.client.execute(&statement, params).await
    }

    /// Runs a dynamic statement that is not cached.
    pub(super) async fn query_once(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, Error> {
        self.client.query(sql, params).await
    }

    /// Runs statements without parameters.
    pub(super) async fn batch_execute(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}
