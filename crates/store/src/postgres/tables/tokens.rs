//! Postgres: API tokens. `body` is fixed at creation; later changes are in separate columns.

use tokio_postgres::Row;
use toolcrib_core::{ApiToken, BoxFuture, Revocation, StoreError, TokenHash, TokenId, TokenStore};

use super::super::PostgresStore;
use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use super::super::text_escape::{escape, unescape};
use super::statement::{Param, Statement};
use super::{read, write};

const ADD: &str = "INSERT INTO tokens (id, hash, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
const BY_HASH: &str =
    "SELECT body, revoked_by, revoked_at, last_used_at FROM tokens WHERE hash = $1";
const ALL: &str = "SELECT body, revoked_by, revoked_at, last_used_at FROM tokens ORDER BY id";
const REVOKE: &str =
    "UPDATE tokens SET revoked_by = $2, revoked_at = $3 WHERE id = $1 AND revoked_at IS NULL";
const TOUCH: &str = "UPDATE tokens SET last_used_at = $2
    WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";

impl TokenStore for PostgresStore {
    fn add_token(&self, token: ApiToken) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(Add(ApiToken { revoked: None, last_used_at: None, ..token }))
    }

    fn token_by_hash<'a>(
        &'a self,
        hash: &'a TokenHash,
    ) -> BoxFuture<'a, Result<Option<ApiToken>, StoreError>> {
        Box::pin(async move { Ok(self.fetch_all(BY_HASH, &[&hash.as_str()], token).await?.pop()) })
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<ApiToken>, StoreError>> {
        Box::pin(async move { self.fetch_all(ALL, &[], token).await })
    }

    fn revoke_token<'a>(
        &'a self,
        id: TokenId,
        by: &'a str,
        at: i64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let params: Vec<Param> =
            vec![Box::new(id.to_string()), Box::new(escape(by).into_owned()), Box::new(at)];
        self.write(Statement::changes_row(REVOKE, params))
    }

    fn touch_token(&self, id: TokenId, at: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        let params: Vec<Param> = vec![Box::new(id.to_string()), Box::new(at)];
        self.write(Statement::new(TOUCH, params).until_power_loss())
    }
}

struct Add(ApiToken);

impl Job for Add {
    type Answer = ();

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(ADD)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(async move {
            let (id, body) = (self.0.id.to_string(), write(&self.0)?);
            match tx.link.execute(ADD, &[&id, &self.0.hash.as_str(), &body]).await? {
                0 => Err(StoreError::Conflict(id).into()),
                _ => Ok(JobOutput::unaudited(())),
            }
        })
    }
}

fn token(row: &Row) -> Result<ApiToken, Failure> {
    let token: ApiToken = read(row, 0)?;
    let (by, at): (Option<&str>, Option<i64>) = (row.try_get(1)?, row.try_get(2)?);
    let revoked = by.zip(at).map(|(by, at)| Revocation { by: unescape(by), at });
    Ok(ApiToken { revoked, last_used_at: row.try_get(3)?, ..token })
}
