//! The token of one server: kept, sent along, renewed when it ends, and got anew where no person is needed for that.
#![deny(clippy::indexing_slicing)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;
use toolcrib_net::HttpClient;
use url::Url;

use super::kept::{Kept, Need};
use super::login::{self, Login};
use super::settings::{GrantKind, Oauth};
use super::token::{Asking, Client, Form, now};
use super::{AuthError, Challenge, identity, place};
use crate::client::Host;
use crate::client::server_config::with_secrets;

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The token of one server.
pub(crate) struct Keeper {
    name: String,
    server: Url,
    settings: Oauth,
    host: Arc<dyn Host>,
    kept: Mutex<Option<Kept>>,
    /// What [`Host::authorizations_changed`] said when that was looked at.
    seen: AtomicU64,
}

/// What becomes of a request that was refused.
pub(crate) enum Answer {
    /// It is sent once more, with this token.
    Again(String),
    /// A person has to do something first.
    Needed,
    /// It has nothing to do with authorization.
    Other,
}

impl Keeper {
    /// The keeper for a server; `None` = no token may go to its address, where anybody on the way could read it.
    pub(crate) fn new(name: &str, url: &str, settings: Oauth, host: Arc<dyn Host>) -> Option<Self> {
        let server = Url::parse(url).ok()?;
        if server.scheme() != "https" && !place::is_here(&server) {
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
        self.host.http()
    }

    /// The settings with their secrets put in.
    fn settings(&self) -> Result<Oauth, AuthError> {
        let mut settings = self.settings.clone();
        for value in settings.secrets_mut() {
            let with = with_secrets(value, |name| self.host.secret(name));
            *value = with.map_err(AuthError::Configuration)?;
        }
        Ok(settings)
    }

    /// What is kept now, which others may have changed.
    async fn load(&self) -> Kept {
        Kept::read(self.host.authorization(&self.name).await.as_deref(), self.server.as_str())
    }

    async fn save(&self, kept: &Kept) -> Result<(), AuthError> {
        let text = kept.text();
        let saved = self.host.keep_authorization(&self.name, Some(&text)).await;
        saved.map_err(AuthError::Configuration)
    }

    /// The token to send; `None` = there is none.
    ///
    /// # Errors
    /// [`AuthError::Unreachable`] when it has ended and cannot be renewed now.
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
            // What is kept now may be good all the same; if not, the server says so.
            Err(AuthError::Needed) => Ok(kept.tokens.as_ref().map(|tokens| tokens.access.clone())),
            Err(error) => Err(error),
        }
    }

    /// The server refused a request that was sent with the token `used`.
    ///
    /// # Errors
    /// Why there is no other token, where that is no matter for a person.
    pub(crate) async fn refused(
        &self,
        status: u16,
        header: &str,
        used: Option<&str>,
    ) -> Result<Answer, AuthError> {
        let challenge = Challenge::read(header);
        let about_scopes = status == 403 && challenge.is_about_scopes();
        if status != 401 && !about_scopes {
            return Ok(Answer::Other);
        }
        let mut slot = self.kept.lock().await;
        let kept = slot.insert(self.load().await);
        if let Some(other) = kept.other_than(used) {
            return Ok(Answer::Again(other));
        }
        if challenge.resource_metadata.is_some() {
            kept.metadata.clone_from(&challenge.resource_metadata);
        }
        let ended = !about_scopes && kept.tokens.is_some();
        if ended && let Some(used) = used {
            match self.renew(kept, used).await {
                Ok(token) => return Ok(Answer::Again(token)),
                Err(AuthError::Needed) => {}
                Err(error) => return Err(error),
            }
        }
        let alone = self.host.alone(&self.name).await;
        // A login may have ended meanwhile: what it brought is not written over.
        *kept = self.load().await;
        if let Some(other) = kept.other_than(used) {
            return Ok(Answer::Again(other));
        }
        let before = kept.clone();
        if challenge.resource_metadata.is_some() {
            kept.metadata = challenge.resource_metadata;
        }
        kept.need = Some(Need { scopes: challenge.scopes, insufficient: about_scopes });
        if !about_scopes {
            kept.tokens = None;
        }
        if self.settings.is_unattended() {
            drop(alone);
            return self.obtain(kept).await.map(Answer::Again);
        }
        if *kept != before {
            self.save(kept).await?;
        }
        // Once and again in vain is no matter for a person any more.
        login::is_again(kept).map(|_| Answer::Needed)
    }

    /// Renews a token that has ended. Others that have the same may do so at the same time: one of us does.
    async fn renew(&self, kept: &mut Kept, used: &str) -> Result<String, AuthError> {
        if self.settings.is_unattended() {
            return self.obtain(kept).await;
        }
        let _alone = self.host.alone(&self.name).await;
        *kept = self.load().await;
        let settings = self.settings()?;
        let client = identity::of_tokens(&settings, kept).ok_or(AuthError::Needed)?;
        let tokens = kept.tokens.as_mut().ok_or(AuthError::Needed)?;
        if tokens.access != used {
            return Ok(tokens.access.clone());
        }
        let refresh = tokens.refresh.clone().ok_or(AuthError::Needed)?;
        let endpoint = place::safe(&tokens.endpoint, "its token endpoint", &self.server)?;
        let form: Form = vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh),
            ("resource", tokens.resource.clone()),
        ];
        let http = self.http();
        let asking =
            Asking { http: &http, issuer: &tokens.issuer, endpoint: &endpoint, client: &client };
        let given = match asking.ask(form).await {
            Ok(given) => given,
            Err(AuthError::Refused(_)) => {
                // It would be refused again.
                tokens.refresh = None;
                self.save(kept).await?;
                return Err(AuthError::Needed);
            }
            Err(error) => return Err(error),
        };
        tokens.access = given.access;
        // Where none comes, the old one stays good (RFC 6749 6).
        tokens.refresh = given.refresh.or(tokens.refresh.take());
        tokens.renew_at = given.holds.map(login::renewal);
        tokens.scopes = given.scopes.unwrap_or_else(|| tokens.scopes.clone());
        let token = tokens.access.clone();
        self.save(kept).await?;
        Ok(token)
    }

    /// Gets a token without a person.
    async fn obtain(&self, kept: &mut Kept) -> Result<String, AuthError> {
        let again = login::is_again(kept)?;
        let (settings, http) = (self.settings()?, self.http());
        let (resource, issuer) = login::find(&http, &self.server, &settings, kept).await?;
        let missing =
            |what: &str| AuthError::Configuration(format!("its configuration has no {what}"));
        let client = identity::of_settings(&settings, &issuer, kept)?;
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
                let endpoint = place::safe(endpoint, "its idp_token_endpoint", &self.server)?;
                let id = settings.idp_client_id.clone().ok_or_else(|| missing("idp_client_id"))?;
                let own = Client { id, secret: None, method: super::kept::Method::None };
                let asking = Asking { http: &http, issuer: "", endpoint: &endpoint, client: &own };
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
                let granted = asking.exchange(form).await?;
                vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", granted)]
            }
        };
        form.push(("resource", resource.id.clone()));
        if !scopes.is_empty() {
            form.push(("scope", scopes.join(" ")));
        }
        let asking =
            Asking { http: &http, issuer: &issuer.id, endpoint: &issuer.token, client: &client };
        let given = asking.ask(form).await?;
        let token = given.access.clone();
        login::keep(kept, given, &issuer, &client, &resource.id, scopes, again);
        self.save(kept).await?;
        Ok(token)
    }

    /// Begins a login of a person, who comes back to `redirect`.
    pub(crate) async fn login(&self, redirect: &str) -> Result<Login, AuthError> {
        if self.settings.is_unattended() {
            return Err(AuthError::Configuration(
                "its tokens are got without a person; look at its oauth in mcp.toml".to_owned(),
            ));
        }
        let kept = self.load().await;
        Login::begin(self.http(), &self.server, &self.settings()?, kept, redirect).await
    }

    /// Ends a login with the address that the person came back to. One that belongs to another login leaves it open.
    pub(crate) async fn finish(&self, login: &Login, redirected: &str) -> Result<(), AuthError> {
        let kept = login.finish(redirected).await?;
        // In the order of all others, so that nobody waits for ever.
        let mut slot = self.kept.lock().await;
        let _alone = self.host.alone(&self.name).await;
        self.save(&kept).await?;
        *slot = Some(kept);
        Ok(())
    }

    /// What is kept now.
    pub(crate) async fn now(&self) -> Kept {
        self.load().await
    }

    /// Whether there is a token now that was not there when the server was asked last.
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
