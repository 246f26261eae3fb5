//! SQLite: grants. [`Grant::covers`] decides whether a grant applies; the database only narrows
//! the search.

use rusqlite::{Params, Row};
use toolcrib_core::grant::GrantQuery;
use toolcrib_core::{AuditEvent, BoxFuture, Grant, GrantId, GrantStore, ReasonKind, StoreError};

use super::audit;
use crate::error::Failure;
use crate::json;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const ADD: &str = "INSERT INTO grants (id, owner, operation, body) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (id) DO NOTHING";
const OF_OPERATION: &str =
    "SELECT body FROM grants WHERE owner = ?1 AND operation = ?2 ORDER BY place";
const OF_OWNER: &str = "SELECT body FROM grants WHERE owner = ?1 ORDER BY place";
const REVOKE: &str = "DELETE FROM grants WHERE id = ?1 RETURNING body";

impl GrantStore for SqliteStore {
    fn add(&self, grant: Grant) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::PowerLoss, move |conn| {
            let (id, body) = (grant.id.to_string(), json::write(&grant)?);
            let row = (&id, &grant.owner, &grant.operation, body);
            match conn.prepare_cached(ADD)?.execute(row)? {
                0 => Err(StoreError::Conflict(id).into()),
                _ => audit::append(conn, &AuditEvent::granted(&grant)),
            }
        })
    }

    fn find<'a>(
        &'a self,
        query: GrantQuery<'a>,
        reason: ReasonKind,
    ) -> BoxFuture<'a, Result<Option<Grant>, StoreError>> {
        let key = (query.owner.to_owned(), query.operation.to_owned());
        let candidates = self.read(move |conn| grants(conn, OF_OPERATION, key));
        Box::pin(async move {
            Ok(candidates.await?.into_iter().find(|grant| grant.covers(&query, reason)))
        })
    }

    fn list<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Grant>, StoreError>> {
        let key = [owner.to_owned()];
        self.read(move |conn| grants(conn, OF_OWNER, key))
    }

    fn revoke<'a>(
        &'a self,
        id: GrantId,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let by = by.to_owned();
        self.write(Durability::PowerLoss, move |conn| {
            let revoked = grants(conn, REVOKE, [id.to_string()])?.pop();
            if let Some(grant) = &revoked {
                audit::append(conn, &AuditEvent::revoked(grant, &by, at))?;
            }
            Ok(revoked.is_some())
        })
    }
}

fn grants(conn: &rusqlite::Connection, sql: &str, key: impl Params) -> Result<Vec<Grant>, Failure> {
    conn.prepare_cached(sql)?.query_and_then(key, grant)?.collect()
}

fn grant(row: &Row<'_>) -> Result<Grant, Failure> {
    json::read(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)
}
