//! Connections that read, beside the one that writes.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Semaphore;
use tokio_postgres::{Error, Row};
use toolcrib_core::StoreError;

use super::error::{is_lost, stopped, store_error};
use super::link::{Connector, Link, Params};

/// Connections at most.
const CONNECTIONS: usize = 4;
/// Tries of a read whose connection was cut: one for each connection that may have been waiting, and one that is new.
const TRIES: usize = CONNECTIONS + 1;

/// Connections, made when they are needed first.
pub(super) struct Readers {
    connector: Connector,
    permits: Semaphore,
    idle: Mutex<Vec<Link>>,
}

/// What is read.
#[derive(Clone, Copy)]
enum Query<'a> {
    Prepared(&'static str),
    Once(&'a str),
}

impl Readers {
    pub(super) fn new(connector: Connector) -> Self {
        Self { connector, permits: Semaphore::new(CONNECTIONS), idle: Mutex::default() }
    }

    /// The rows of a statement.
    pub(super) async fn rows(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.read(Query::Prepared(sql), params).await
    }

    /// The rows of a statement that is put together for this once.
    pub(super) async fn rows_once(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.read(Query::Once(sql), params).await
    }

    async fn read(&self, query: Query<'_>, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let _permit = self.permits.acquire().await.map_err(|_| stopped())?;
        let mut tries = 1;
        loop {
            match self.attempt(query, params).await {
                Ok(rows) => return Ok(rows),
                Err(error) if is_lost(&error) && tries < TRIES => tries += 1,
                Err(error) => return Err(store_error(&error)),
            }
        }
    }

    async fn attempt(&self, query: Query<'_>, params: Params<'_>) -> Result<Vec<Row>, Error> {
        let link = match self.waiting() {
            Some(link) => link,
            None => self.connector.link().await?,
        };
        let rows = match query {
            Query::Prepared(sql) => link.query(sql, params).await,
            Query::Once(sql) => link.query_once(sql, params).await,
        };
        // One that failed may be half-way in something; one whose reader went away is dropped with it.
        if rows.is_ok() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        }
        rows
    }

    fn waiting(&self) -> Option<Link> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|link| !link.is_closed());
        idle.pop()
    }
}
