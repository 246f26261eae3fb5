//! Pool of Postgres connections for reads.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::{Error, Row};
use toolcrib_core::StoreError;
use toolcrib_core::store::DatabaseFigures;

use super::availability::{self, Availability};
use super::connection::{Connection, Connector, Params};
use super::error::{is_connection_lost, stopped, store_error};

/// Maximum number of connections.
const CONNECTIONS: usize = 4;
/// Attempts of a read whose connection was lost: every idle connection may be dead, plus one new
/// connection.
const TRIES: usize = CONNECTIONS + 1;

/// Connections, opened on demand.
pub(super) struct ReadPool {
    connector: Connector,
    availability: Availability,
    permits: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

/// A prepared or a dynamic statement.
#[derive(Clone, Copy)]
enum Query<'a> {
    Prepared(&'static str),
    Once(&'a str),
}

impl ReadPool {
    pub(super) fn new(connector: Connector, availability: Availability) -> Self {
        let permits = Semaphore::new(CONNECTIONS);
        Self { connector, availability, permits, idle: Mutex::default() }
    }

    /// Returns the rows of a prepared statement.
    pub(super) async fn rows(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.read(Query::Prepared(sql), params).await
    }

    /// Returns the rows of a dynamic statement.
    pub(super) async fn rows_once(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.read(Query::Once(sql), params).await
    }

    async fn read(&self, query: Query<'_>, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        tokio::select! {
            biased;
            () = self.availability.away() => Err(availability::away(self.connector.display_name())),
            rows = self.retry(query, params) => rows,
        }
    }

    async fn retry(&self, query: Query<'_>, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let begun = Instant::now();
        let _permit = self.permit().await?;
        let mut tries = 1;
        let result = loop {
            match self.attempt(query, params).await {
                Ok(rows) => break Ok(rows),
                Err(error) if is_connection_lost(&error) && tries < TRIES => tries += 1,
                Err(error) => break Err(store_error(&error)),
            }
        };
        self.connector.figures().reads.record(begun.elapsed());
        result
    }

    async fn permit(&self) -> Result<SemaphorePermit<'_>, StoreError> {
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(permit);
        }
        self.connector.figures().pool_waits.add(1);
        self.permits.acquire().await.map_err(|_| stopped())
    }

    /// Returns the counters of the store with the current state of the pool.
    pub(super) fn figures(&self) -> DatabaseFigures {
        let counted = self.connector.figures();
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).len();
        DatabaseFigures {
            pool_limit: CONNECTIONS as u64,
            pool_in_use: CONNECTIONS.saturating_sub(self.permits.available_permits()) as u64,
            pool_idle: idle as u64,
            pool_waits: counted.pool_waits.get(),
            renewals: counted.renewals.get(),
            failed_renewals: counted.failed_renewals.get(),
            fenced_writes: counted.fenced_writes.get(),
            reads: counted.reads.snapshot(),
            commits: counted.commits.snapshot(),
        }
    }

    async fn attempt(&self, query: Query<'_>, params: Params<'_>) -> Result<Vec<Row>, Error> {
        let link = match self.waiting() {
            Some(link) => link,
            None => self.connector.open().await?,
        };
        let rows = match query {
            Query::Prepared(sql) => link.query(sql, params).await,
            Query::Once(sql) => link.query_once(sql, params).await,
        };
        // A failed connection may be in an undefined state; if the reader's future is dropped, its
        // connection is dropped too.
        if rows.is_ok() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        }
        rows
    }

    fn waiting(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|link| !link.is_closed());
        idle.pop()
    }
}
