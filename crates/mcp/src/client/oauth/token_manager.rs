//! Token manager of one server: stores the token, attaches it to requests, renews it, and obtains a
//! new one if that needs no person.
#![deny(clippy::indexing_slicing)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;
use toolcrib_net::HttpClient;
use url::Url;

use super::login::{self, Login};
use super::oauth_settings::{GrantKind, Oauth};
use super::stored_credentials::{AuthorizationNeed, StoredCredentials};
use super::token_endpoint::{Form, OauthClient, TokenRequest, now};
use super::{AuthError, Challenge, client_registration, url_policy};
use crate::client::ClientHost;
use crate::client::server_config::with_secrets;

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The token of one server.
pub(crate) struct TokenManager {
    name: String,
    server: Url,
    settings: Oauth,
    host: Arc<dyn ClientHost>,
    kept: Mutex<Option<StoredCredentials>>,
    /// The result of [`ClientHost::authorizations_changed`] when the credentials were last loaded.
    seen: AtomicU64,
}

/// What to do after a rejected request.
pub(crate) enum RefreshResult {
    /// Send it once more with this token.
    RetryWith(String),
    /// A person must log in.
    LoginRequired,
    /// The rejection is not about authorization.
    NotAuthorization,
}

impl TokenManager {
    /// Creates the token manager of a server; `None` if a token would be sent unencrypted to its
    /// address.
    pub(crate) fn new(
        name: &str,
        url: &str,
        settings: Oauth,
        host: Arc<dyn ClientHost>,
    ) -> Option<Self> {
        let server = Url::parse(url).ok()?;
        if server.scheme() != "https" && !url_policy::is_loopback(&server) {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            server,
            settings,
            host,
            kept: Mutex::new(None),
            seen: AtomicU64::new(0),
        })
    }

    fn http(&self) -> HttpClient {
        self.host.http_for(self.server.as_str())
    }

    /// Returns the settings with secrets resolved.
    fn settings(&self) -> Result<Oauth, AuthError> {
        let mut settings = self.settings.clone();
        for value in settings.secrets_mut() {
            let with = with_secrets(value, |name| self.host.secret(name));
            *value = with.map_err(AuthError::Configuration)?;
        }
        Ok(settings)
    }

    /// Loads the stored credentials, which another process may have changed.
    async fn load(&self) -> StoredCredentials {
        StoredCredentials::parse(
            self.host.authorization(&self.name).await.as_deref(),
            self.server.as_str(),
        )
    }

    async fn save(&self, kept: &StoredCredentials) -> Result<(), AuthError> {
        let text = kept.to_json();
        let saved = self.host.store_authorization(&self.name, Some(&text)).await;
        saved.map_err(AuthError::Configuration)
    }

    /// Returns the token to send; `None` if there is none.
    ///
    /// # Errors
    /// [`AuthError::Unreachable`] if it has expired and cannot be renewed now.
    pub(crate) async fn token(&self) -> Result<Option<String>, AuthError> {
        let mut slot = self.kept.lock().await;
        let now_seen = self.host.authorizations_changed();
        if self.seen.swap(now_seen, Ordering::Relaxed) != now_seen {
            *slot = None;
        }
        let kept = match &mut *slot {
            Some(kept) => kept,
            none => none.insert(self.load().await),
        };
        let Some(tokens) = &kept.tokens else { return Ok(None) };
        if tokens.renew_at.is_none_or(|at| at > now()) {
            return Ok(Some(tokens.access.clone()));
        }
        let used = tokens.access.clone();
        match self.renew(kept, &used).await {
            Ok(token) => Ok(Some(token)),
            // The old token may still be valid; if not, the server rejects it.
            Err(AuthError::Needed) => Ok(kept.tokens.as_ref().map(|tokens| tokens.access.clone())),
            Err(error) => Err(error),
        }
    }

    /// Handles the rejection of a request that was sent with the token `used`.
    ///
    /// # Errors
    /// Why there is no other token, if a login would not help.
    pub(crate) async fn handle_challenge(
        &self,
        status: u16,
        header: &str,
        used: Option<&str>,
    ) -> Result<RefreshResult, AuthError> {
        let challenge = Challenge::read(header);
        let about_scopes = status == 403 && challenge.is_about_scopes();
        if status != 401 && !about_scopes {
            return Ok(RefreshResult::NotAuthorization);
        }
        let mut slot = self.kept.lock().await;
        let kept = slot.insert(self.load().await);
        if let Some(other) = kept.token_unless(used) {
            return Ok(RefreshResult::RetryWith(other));
        }
        if challenge.resource_metadata.is_some() {
            kept.metadata.clone_from(&challenge.resource_metadata);
        }
        let ended = !about_scopes && kept.tokens.is_some();
        if ended && let Some(used) = used {
            match self.renew(kept, used).await {
                Ok(token) => return Ok(RefreshResult::RetryWith(token)),
                Err(AuthError::Needed) => {}
                Err(error) => return Err(error),
            }
        }
        let alone = self.host.lock_authorization(&self.name).await;
        // A login may have completed meanwhile; its result must not be overwritten.
        *kept = self.load().await;
        if let Some(other) = kept.token_unless(used) {
            return Ok(RefreshResult::RetryWith(other));
        }
        let before = kept.clone();
        if challenge.resource_metadata.is_some() {
            kept.metadata = challenge.resource_metadata;
        }
        kept.need =
            Some(AuthorizationNeed { scopes: challenge.scopes, insufficient: about_scopes });
        if !about_scopes {
            kept.tokens = None;
        }
        if self.settings.is_unattended() {
            drop(alone);
            return self.obtain(kept).await.map(RefreshResult::RetryWith);
        }
        if *kept != before {
            self.save(kept).await?;
        }
        // If the same scopes were requested repeatedly, a login does not help.
        login::has_asked_before(kept).map(|_| RefreshResult::LoginRequired)
    }

    /// Renews an expired token. Other processes with the same token may try at the same time; the
    /// lock lets one of them do it.
    async fn renew(&self, kept: &mut StoredCredentials, used: &str) -> Result<String, AuthError> {
        if self.settings.is_unattended() {
            return self.obtain(kept).await;
        }
        let _alone = self.host.lock_authorization(&self.name).await;
        *kept = self.load().await;
        let settings = self.settings()?;
        let client = client_registration::from_tokens(&settings, kept).ok_or(AuthError::Needed)?;
        let tokens = kept.tokens.as_mut().ok_or(AuthError::Needed)?;
        if tokens.access != used {
            return Ok(tokens.access.clone());
        }
        let refresh = tokens.refresh.clone().ok_or(AuthError::Needed)?;
        let endpoint = url_policy::check_url(&tokens.endpoint, "its token endpoint", &self.server)?;
        let form: Form = vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh),
            ("resource", tokens.resource.clone()),
        ];
        let http = self.http();
        let asking = TokenRequest {
            http: &http,
            issuer: &tokens.issuer,
            endpoint: &endpoint,
            client: &client,
        };
        let given = match asking.request_tokens(form).await {
            Ok(given) => given,
            Err(AuthError::Refused(_)) => {
                // The refresh token is invalid and would be refused again.
                tokens.refresh = None;
                self.save(kept).await?;
                return Err(AuthError::Needed);
            }
            Err(error) => return Err(error),
        };
        tokens.access = given.access;
        // Without a new refresh token, the old one stays valid (RFC 6749 6).
        tokens.refresh = given.refresh.or(tokens.refresh.take());
        tokens.renew_at = given.expires_in.map(login::renew_at);
        tokens.scopes = given.scopes.unwrap_or_else(|| tokens.scopes.clone());
        let token = tokens.access.clone();
        self.save(kept).await?;
        Ok(token)
    }

    /// Obtains a token without a person.
    async fn obtain(&self, kept: &mut StoredCredentials) -> Result<String, AuthError> {
        let again = login::has_asked_before(kept)?;
        let (settings, http) = (self.settings()?, self.http());
        let (resource, issuer) =
            login::discover_issuer(&http, &self.server, &settings, kept).await?;
        let missing =
            |what: &str| AuthError::Configuration(format!("its configuration has no {what}"));
        let client = client_registration::from_settings(&settings, &issuer, kept)?;
        let client = client.ok_or_else(|| missing("client_id"))?;
        let scopes = login::scopes(&settings, &resource, &issuer, kept);
        let assertion = || settings.assertion.clone().ok_or_else(|| missing("assertion"));
        let mut form: Form = match settings.grant {
            GrantKind::AuthorizationCode => return Err(AuthError::Needed),
            GrantKind::ClientCredentials => {
                vec![("grant_type", "client_credentials".to_owned())]
            }
            GrantKind::JwtBearer => {
                vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", assertion()?)]
            }
            GrantKind::Enterprise => {
                let endpoint = settings.idp_token_endpoint.as_deref();
                let endpoint = endpoint.ok_or_else(|| missing("idp_token_endpoint"))?;
                let endpoint =
                    url_policy::check_url(endpoint, "its idp_token_endpoint", &self.server)?;
                let id = settings.idp_client_id.clone().ok_or_else(|| missing("idp_client_id"))?;
                let own = OauthClient {
                    id,
                    secret: None,
                    method: super::stored_credentials::AuthMethod::None,
                };
                let asking =
                    TokenRequest { http: &http, issuer: "", endpoint: &endpoint, client: &own };
                let mut form: Form = vec![
                    ("grant_type", TOKEN_EXCHANGE.to_owned()),
                    ("requested_token_type", ID_JAG.to_owned()),
                    ("subject_token", assertion()?),
                    ("subject_token_type", ID_TOKEN.to_owned()),
                    ("audience", issuer.id.clone()),
                    ("resource", resource.id.clone()),
                ];
                if !scopes.is_empty() {
                    form.push(("scope", scopes.join(" ")));
                }
                let granted = asking.exchange_token(form).await?;
                vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", granted)]
            }
        };
        form.push(("resource", resource.id.clone()));
        if !scopes.is_empty() {
            form.push(("scope", scopes.join(" ")));
        }
        let asking = TokenRequest {
            http: &http,
            issuer: &issuer.id,
            endpoint: &issuer.token,
            client: &client,
        };
        let given = asking.request_tokens(form).await?;
        let token = given.access.clone();
        login::store_tokens(kept, given, &issuer, &client, &resource.id, scopes, again);
        self.save(kept).await?;
        Ok(token)
    }

    /// Begins a login with this redirect URI.
    pub(crate) async fn login(&self, redirect: &str) -> Result<Login, AuthError> {
        if self.settings.is_unattended() {
            return Err(AuthError::Configuration(
                "its tokens are got without a person; look at its oauth in mcp.toml".to_owned(),
            ));
        }
        let kept = self.load().await;
        Login::begin(self.http(), &self.server, &self.settings()?, kept, redirect).await
    }

    /// Completes a login with the URL of the redirect. The redirect of another login leaves it
    /// open.
    pub(crate) async fn finish(&self, login: &Login, redirected: &str) -> Result<(), AuthError> {
        let kept = login.finish(redirected).await?;
        // Locks in the same order as everywhere else, to avoid a deadlock.
        let mut slot = self.kept.lock().await;
        let _alone = self.host.lock_authorization(&self.name).await;
        self.save(&kept).await?;
        *slot = Some(kept);
        Ok(())
    }

    /// Returns the stored credentials.
    pub(crate) async fn stored_credentials(&self) -> StoredCredentials {
        self.load().await
    }

    /// Returns whether there is a token that was not there at the last request.
    pub(crate) async fn has_changed(&self) -> bool {
        let now = self.load().await;
        let mut slot = self.kept.lock().await;
        let changed = slot.as_ref().is_some_and(|before| before.tokens != now.tokens);
        if changed {
            *slot = Some(now);
        }
        changed
    }
}

#[cfg(test)]
mod tests;
