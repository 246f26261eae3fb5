//! SQLite: API tokens. `body` is fixed at creation; later changes are in separate columns.

use rusqlite::{OptionalExtension as _, Row};
use toolcrib_core::{ApiToken, BoxFuture, Revocation, StoreError, TokenHash, TokenId, TokenStore};

use super::text;
use crate::error::Failure;
use crate::json;
use crate::sqlite::SqliteStore;
use crate::writer::Durability;

const ADD: &str = "INSERT INTO tokens (id, hash, body) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
const BY_HASH: &str =
    "SELECT body, revoked_by, revoked_at, last_used_at FROM tokens WHERE hash = ?1";
const ALL: &str = "SELECT body, revoked_by, revoked_at, last_used_at FROM tokens ORDER BY id";
const REVOKE: &str =
    "UPDATE tokens SET revoked_by = ?2, revoked_at = ?3 WHERE id = ?1 AND revoked_at IS NULL";
const TOUCH: &str = "UPDATE tokens SET last_used_at = ?2
    WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";

impl TokenStore for SqliteStore {
    fn add_token(&self, token: ApiToken) -> BoxFuture<'_, Result<(), StoreError>> {
        let token = ApiToken { revoked: None, last_used_at: None, ..token };
        self.write(Durability::PowerLoss, move |conn| {
            let (id, body) = (token.id.to_string(), json::write(&token)?);
            match conn.prepare_cached(ADD)?.execute((&id, token.hash.as_str(), body))? {
                0 => Err(StoreError::Conflict(id).into()),
                _ => Ok(()),
            }
        })
    }

    fn token_by_hash<'a>(
        &'a self,
        hash: &'a TokenHash,
    ) -> BoxFuture<'a, Result<Option<ApiToken>, StoreError>> {
        let key = [hash.as_str().to_owned()];
        self.read(move |conn| {
            let row =
                conn.prepare_cached(BY_HASH)?.query_row(key, |row| Ok(token(row))).optional()?;
            row.transpose()
        })
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<ApiToken>, StoreError>> {
        self.read(move |conn| conn.prepare_cached(ALL)?.query_and_then([], token)?.collect())
    }

    fn revoke_token<'a>(
        &'a self,
        id: TokenId,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let row = (id.to_string(), by.to_owned(), at);
        self.write(Durability::PowerLoss, move |conn| {
            Ok(conn.prepare_cached(REVOKE)?.execute(row)? > 0)
        })
    }

    fn touch_token(&self, id: TokenId, at: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Durability::ProcessCrash, move |conn| {
            conn.prepare_cached(TOUCH)?.execute((id.to_string(), at))?;
            Ok(())
        })
    }
}

fn token(row: &Row<'_>) -> Result<ApiToken, Failure> {
    let token: ApiToken = json::read(text(row, 0)?)?;
    let (by, at): (Option<String>, Option<i64>) = (row.get(1)?, row.get(2)?);
    let revoked = by.zip(at).map(|(by, at)| Revocation { by, at });
    Ok(ApiToken { revoked, last_used_at: row.get(3)?, ..token })
}
