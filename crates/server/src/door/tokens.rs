//! Tokens that hold: looked up by their hash, and remembered so briefly that one that is revoked elsewhere stops within a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use subtle::ConstantTimeEq as _;
use toolcrib_app::Secrets;
use toolcrib_app::core::{ApiToken, StoreError, TokenHash, TokenId, TokenStore};

use super::token_text;
use crate::role::{Principal, Role, Roles};

/// How long a row is believed without looking again: what another daemon revokes holds here for no longer.
const BELIEVED: Duration = Duration::from_millis(500);
/// How often it is written down that a token is in use.
const TOUCHED: Duration = Duration::from_secs(60);
/// Rows that are remembered; more than there are tokens in use.
const KEPT: usize = 4_096;

/// Who came with which token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credential {
    /// The token of this machine.
    Machine,
    /// A token of the store.
    Stored(TokenHash),
}

/// The tokens that hold here.
pub(crate) struct Tokens {
    store: Arc<dyn TokenStore>,
    machine: TokenHash,
    secrets: Secrets,
    known: Mutex<HashMap<TokenHash, Known>>,
}

/// A row that was read a moment ago.
struct Known {
    row: Arc<ApiToken>,
    read: Instant,
    touched: Option<Instant>,
}

impl Tokens {
    /// Those of this store beside the one of this machine. Texts of tokens that come in are masked from then on, wherever they turn up.
    pub(super) fn new(store: Arc<dyn TokenStore>, machine: &str, secrets: Secrets) -> Self {
        secrets.learn([machine]);
        Self { store, machine: TokenHash::of(machine), secrets, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<TokenHash, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose token this is; `None` = nobody's, or it holds no more.
    pub(crate) async fn principal_of(
        &self,
        token: &str,
    ) -> Result<Option<(Credential, Principal)>, StoreError> {
        if !token_text::is_token(token) {
            return Ok(None);
        }
        let hash = TokenHash::of(token);
        let is_machine = hash.as_str().as_bytes().ct_eq(self.machine.as_str().as_bytes());
        if bool::from(is_machine) {
            return Ok(Some((Credential::Machine, machine("owner"))));
        }
        let is_known = self.known().contains_key(&hash);
        let credential = Credential::Stored(hash);
        let principal = self.principal(&credential).await?;
        if principal.is_some() && !is_known {
            self.secrets.learn([token]);
        }
        Ok(principal.map(|principal| (credential, principal)))
    }

    /// Who this is, if the token still holds.
    pub(crate) async fn principal(
        &self,
        credential: &Credential,
    ) -> Result<Option<Principal>, StoreError> {
        let Credential::Stored(hash) = credential else { return Ok(Some(machine("owner"))) };
        let Some(row) = self.row(hash).await? else { return Ok(None) };
        let now = jiff::Timestamp::now().as_millisecond();
        if !row.holds_at(now) {
            return Ok(None);
        }
        self.touch(hash, row.id, now);
        Ok(Some(principal(&row)))
    }

    async fn row(&self, hash: &TokenHash) -> Result<Option<Arc<ApiToken>>, StoreError> {
        if let Some(known) = self.known().get(hash).filter(|known| known.read.elapsed() < BELIEVED)
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
        if known.len() >= KEPT {
            known.retain(|_, known| known.read.elapsed() < BELIEVED);
        }
        // One that was revoked while this was read is known better by whoever revoked it.
        if let Some(newer) = known.get(hash).filter(|known| known.read > read) {
            return Ok(Some(Arc::clone(&newer.row)));
        }
        let touched = known.get(hash).and_then(|known| known.touched);
        known.insert(hash.clone(), Known { row: Arc::clone(&row), read, touched });
        Ok(Some(row))
    }

    /// Writes down that it is in use, beside the request and not before it.
    fn touch(&self, hash: &TokenHash, id: TokenId, now: i64) {
        let mut known = self.known();
        let Some(known) = known.get_mut(hash) else { return };
        if known.touched.is_some_and(|at| at.elapsed() < TOUCHED) {
            return;
        }
        known.touched = Some(Instant::now());
        let store = Arc::clone(&self.store);
        tokio::spawn(async move {
            if let Err(error) = store.touch_token(id, now).await {
                tracing::debug!(%error, "the use of a token could not be written down");
            }
        });
    }

    /// All that there are.
    pub(crate) async fn list(&self) -> Result<Vec<ApiToken>, StoreError> {
        self.store.tokens().await
    }

    /// Keeps a new one.
    pub(crate) async fn add(&self, token: &str, row: ApiToken) -> Result<(), StoreError> {
        self.secrets.learn([token]);
        self.store.add_token(row).await
    }

    /// Takes one back: it holds no more once this answers. `false` = somebody did before.
    pub(crate) async fn revoke(
        &self,
        id: TokenId,
        hash: &TokenHash,
        by: &str,
    ) -> Result<bool, StoreError> {
        let now = jiff::Timestamp::now().as_millisecond();
        let revoked = self.store.revoke_token(id, by, now).await?;
        self.known().remove(hash);
        self.row(hash).await?;
        Ok(revoked)
    }
}

/// The owner, by the token of the machine or on the socket.
pub(super) fn machine(name: &str) -> Principal {
    Principal {
        name: name.to_owned(),
        owner: String::new(),
        roles: Roles::of(&[Role::Owner]),
        client: name.to_owned(),
        tools: None,
        expires_at: None,
    }
}

fn principal(row: &ApiToken) -> Principal {
    // A word that is no role, of a newer version, gives nothing.
    let roles: Vec<Role> = row.roles.iter().filter_map(|word| word.parse().ok()).collect();
    Principal {
        name: format!("token {}", row.name),
        owner: row.owner.clone(),
        roles: Roles::of(&roles),
        client: row.id.to_string(),
        tools: row.tools.clone(),
        expires_at: row.expires_at,
    }
}
