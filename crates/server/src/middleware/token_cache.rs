//! Valid tokens, looked up by their hash and cached so briefly that a token that another daemon
//! revokes becomes invalid here within a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use toolcrib_app::Secrets;
use toolcrib_core::{ApiToken, BoxFuture, StoreError, TokenHash, TokenId, TokenStore};
use toolcrib_ops::OpError;
use toolcrib_ops::tokens::TokenTable;

use super::token_format;
use crate::role::{Person, Principal, Role, Roles};

/// Time for which a cached row is used without reading it again.
const CACHE_TTL: Duration = Duration::from_millis(500);
/// Minimum time between two updates of the last use of a token.
const LAST_USED_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum number of cached rows: more than the tokens in use.
const MAX_CACHED: usize = 4_096;

/// The token of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Credential {
    /// The token of this machine.
    Machine,
    /// A token of the store.
    Stored(TokenHash),
}

/// The valid tokens of this daemon.
pub(crate) struct TokenCache {
    store: Arc<dyn TokenStore>,
    machine: TokenHash,
    secrets: Secrets,
    known: Mutex<HashMap<TokenHash, CachedToken>>,
    /// Held while a token is added, so that this daemon does not give two tokens the same name.
    adding: tokio::sync::Mutex<()>,
}

/// A cached row.
struct CachedToken {
    row: Arc<ApiToken>,
    read: Instant,
    touched: Option<Instant>,
}

impl TokenCache {
    /// Creates a cache over the tokens of this store and the token of this machine. From their
    /// first use on, tokens are masked in all output.
    pub(super) fn new(store: Arc<dyn TokenStore>, machine: &str, secrets: Secrets) -> Self {
        secrets.add([machine]);
        Self {
            store,
            machine: TokenHash::from_token(machine),
            secrets,
            known: Mutex::default(),
            adding: tokio::sync::Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<TokenHash, CachedToken>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the principal of a token; `None` if the token is unknown or no longer valid.
    pub(crate) async fn authenticate(
        &self,
        token: &str,
    ) -> Result<Option<(Credential, Principal)>, StoreError> {
        if !token_format::is_token(token) {
            return Ok(None);
        }
        let hash = TokenHash::from_token(token);
        let is_machine = hash.as_str().as_bytes().ct_eq(self.machine.as_str().as_bytes());
        if bool::from(is_machine) {
            return Ok(Some((Credential::Machine, local_principal("owner"))));
        }
        let is_known = self.known().contains_key(&hash);
        let credential = Credential::Stored(hash);
        let principal = self.principal(&credential).await?;
        if principal.is_some() && !is_known {
            self.secrets.add([token]);
        }
        Ok(principal.map(|principal| (credential, principal)))
    }

    /// Returns the principal of a credential; `None` if the credential is no longer valid.
    pub(crate) async fn principal(
        &self,
        credential: &Credential,
    ) -> Result<Option<Principal>, StoreError> {
        let Credential::Stored(hash) = credential else {
            return Ok(Some(local_principal("owner")));
        };
        let Some(row) = self.row(hash).await? else { return Ok(None) };
        let now = jiff::Timestamp::now().as_millisecond();
        if !row.is_valid_at(now) {
            return Ok(None);
        }
        self.touch(hash, row.id, now);
        Ok(Some(principal(&row)))
    }

    async fn row(&self, hash: &TokenHash) -> Result<Option<Arc<ApiToken>>, StoreError> {
        if let Some(known) = self.known().get(hash).filter(|known| known.read.elapsed() < CACHE_TTL)
        {
            return Ok(Some(Arc::clone(&known.row)));
        }
        let read = Instant::now();
        let row = self.store.token_by_hash(hash).await?;
        let mut known = self.known();
        let Some(row) = row.map(Arc::new) else {
            known.remove(hash);
            return Ok(None);
        };
        if known.len() >= MAX_CACHED {
            known.retain(|_, known| known.read.elapsed() < CACHE_TTL);
        }
        // `revoke` may have cached a newer row meanwhile.
        if let Some(newer) = known.get(hash).filter(|known| known.read > read) {
            return Ok(Some(Arc::clone(&newer.row)));
        }
        let touched = known.get(hash).and_then(|known| known.touched);
        known.insert(hash.clone(), CachedToken { row: Arc::clone(&row), read, touched });
        Ok(Some(row))
    }

    /// Stores the time of use of the token, without delaying the request.
    fn touch(&self, hash: &TokenHash, id: TokenId, now: i64) {
        let mut known = self.known();
        let Some(known) = known.get_mut(hash) else { return };
        if known.touched.is_some_and(|at| at.elapsed() < LAST_USED_INTERVAL) {
            return;
        }
        known.touched = Some(Instant::now());
        let store = Arc::clone(&self.store);
        tokio::spawn(async move {
            if let Err(error) = store.touch_token(id, now).await {
                tracing::debug!(%error, "the last use of a token could not be stored");
            }
        });
    }
}

impl TokenTable for TokenCache {
    fn generate(&self) -> Result<String, OpError> {
        token_format::generate().map_err(|error| OpError::Internal(error.to_string()))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ApiToken>, StoreError>> {
        self.store.tokens()
    }

    /// Refuses a second valid token of the same name, because people could not tell the two apart.
    /// Records distinguish tokens by id, even if two daemons add the same name at the same time.
    fn add<'a>(&'a self, token: &'a str, row: ApiToken) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let _alone = self.adding.lock().await;
            let others = self.store.tokens().await?;
            let has_name = |old: &ApiToken| old.name == row.name && old.is_valid_at(row.created_at);
            if others.iter().any(has_name) {
                return Ok(false);
            }
            self.secrets.add([token]);
            self.store.add_token(row).await?;
            Ok(true)
        })
    }

    fn revoke<'a>(
        &'a self,
        token: &'a ApiToken,
        by: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let now = jiff::Timestamp::now().as_millisecond();
            let revoked = self.store.revoke_token(token.id, by, now).await?;
            self.known().remove(&token.hash);
            self.row(&token.hash).await?;
            Ok(revoked)
        })
    }
}

/// Returns the owner, authenticated by the token of the machine or on the socket.
pub(super) fn local_principal(name: &str) -> Principal {
    Principal {
        name: name.to_owned(),
        owner: String::new(),
        roles: Roles::from_roles(&[Role::Owner]),
        client: name.to_owned(),
        tools: None,
        expires_at: None,
    }
}

fn principal(row: &ApiToken) -> Principal {
    // Roles that only a newer version knows are ignored.
    let roles: Vec<Role> = row.roles.iter().filter_map(|role| role.parse().ok()).collect();
    Principal {
        name: Person::token_name(&row.name, row.id),
        owner: row.owner.clone(),
        roles: Roles::from_roles(&roles),
        client: row.id.to_string(),
        tools: row.tools.clone(),
        expires_at: row.expires_at,
    }
}
