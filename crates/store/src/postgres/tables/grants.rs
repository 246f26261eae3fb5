//! Postgres: grants. [`Grant::covers`] decides whether a grant applies; the database only narrows
//! the search.

use toolcrib_core::grant::GrantQuery;
use toolcrib_core::{AuditEvent, BoxFuture, Grant, GrantId, GrantStore, ReasonKind, StoreError};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::escape;
use super::{read, write};

const ADD: &str = "INSERT INTO grants (id, owner, operation, body) VALUES ($1, $2, $3, $4)
    ON CONFLICT (id) DO NOTHING";
const OF_OPERATION: &str =
    "SELECT body FROM grants WHERE owner = $1 AND operation = $2 ORDER BY place";
const OF_OWNER: &str = "SELECT body FROM grants WHERE owner = $1 ORDER BY place";
const REVOKE: &str = "DELETE FROM grants WHERE id = $1 RETURNING body";

impl GrantStore for PostgresStore {
    fn add(&self, grant: Grant) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Add(grant))
    }

    fn find<'a>(
        &'a self,
        query: GrantQuery<'a>,
        reason: ReasonKind,
    ) -> BoxFuture<'a, Result<Option<Grant>, StoreError>> {
        Box::pin(async move {
            let key = (escape(query.owner), escape(query.operation));
            let candidates: Vec<Grant> =
                self.fetch_all(OF_OPERATION, &[&key.0, &key.1], |row| read(row, 0)).await?;
            Ok(candidates.into_iter().find(|grant| grant.covers(&query, reason)))
        })
    }

    fn list<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>> {
        Box::pin(
            async move { self.fetch_all(OF_OWNER, &[&escape(owner)], |row| read(row, 0)).await },
        )
    }

    fn revoke<'a>(
        &'a self,
        id: GrantId,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.write(Revoke { id, by: by.to_owned(), at })
    }
}

struct Add(Grant);

impl Job for Add {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(ADD)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let (id, body) = (self.0.id.to_string(), write(&self.0)?);
            let (owner, operation) = (escape(&self.0.owner), escape(&self.0.operation));
            match tx.link.execute(ADD, &[&id, &owner, &operation, &body]).await? {
                0 => Err(StoreError::Conflict(id).into()),
                _ => Ok(JobOutput::audited((), AuditEvent::granted(&self.0))),
            }
        })
    }
}

struct Revoke {
    id: GrantId,
    by: String,
    at: i64,
}

impl Job for Revoke {
    type Answer = bool;

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(REVOKE)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<bool>, Failure>> {
        Box::pin(async move {
            let Some(row) = tx.link.query_optional(REVOKE, &[&self.id.to_string()]).await? else {
                return Ok(JobOutput::unaudited(false));
            };
            let grant: Grant = read(&row, 0)?;
            Ok(JobOutput::audited(true, AuditEvent::revoked(&grant, &self.by, self.at)))
        })
    }
}
