//! OAuth client registration: pre-registered, by a client metadata document, or dynamic (MCP
//! 2026-07-28, client registration).
#![deny(clippy::indexing_slicing)]

use serde_json::{Value, json};
use toolcrib_net::HttpClient;

use super::metadata::AuthorizationServer;
use super::oauth_settings::Oauth;
use super::stored_credentials::{AuthMethod, RegisteredClient, StoredCredentials};
use super::token_endpoint::{self, OauthClient, now};
use super::{AuthError, bounded_text, oauth_http};

/// Longest client id or secret, in bytes.
const LONGEST: usize = 4096;

/// Returns whether two issuers are the same, ignoring a trailing slash.
pub(super) fn same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Returns the configured client. It is used with the configured issuer; without one, with the
/// first issuer that it was used with.
pub(super) fn from_settings(
    settings: &Oauth,
    issuer: &AuthorizationServer,
    kept: &StoredCredentials,
) -> Result<Option<OauthClient>, AuthError> {
    let Some(id) = settings.client_id.clone() else { return Ok(None) };
    if let Some(own) = settings.issuer.as_ref().or(kept.issuer.as_ref())
        && !same_issuer(own, &issuer.id)
    {
        return Err(AuthError::Unusable(format!(
            "the server names the authorization server {}, and its client belongs to {}",
            bounded_text(&issuer.id),
            bounded_text(own)
        )));
    }
    let (secret, method) = match &settings.private_key {
        Some(key) => (Some(key.clone()), AuthMethod::PrivateKeyJwt),
        None => {
            let secret = settings.client_secret.clone();
            let method = token_endpoint::method(secret.is_some(), issuer.methods.as_deref())?;
            (secret, method)
        }
    };
    Ok(Some(OauthClient { id, secret, method }))
}

/// Returns the client for a login with this redirect URI; a dynamically registered one is stored in
/// `kept`.
pub(super) async fn client_for_login(
    http: &HttpClient,
    settings: &Oauth,
    issuer: &AuthorizationServer,
    redirect: &str,
    kept: &mut StoredCredentials,
) -> Result<OauthClient, AuthError> {
    if let Some(client) = from_settings(settings, issuer, kept)? {
        return Ok(client);
    }
    if let Some(document) = settings.client_metadata_url.as_ref().filter(|_| issuer.takes_documents)
    {
        return Ok(OauthClient { id: document.clone(), secret: None, method: AuthMethod::None });
    }
    let is_good = |client: &RegisteredClient| {
        client.issuer == issuer.id
            && client.redirect == redirect
            && client.until.is_none_or(|until| until > now())
    };
    let registered = match kept.client.take().filter(is_good) {
        Some(registered) => registered,
        None => register(http, issuer, redirect).await?,
    };
    let client = from_registered(&registered, issuer.methods.as_deref());
    kept.client = Some(registered);
    client
}

fn from_registered(
    registered: &RegisteredClient,
    known: Option<&[String]>,
) -> Result<OauthClient, AuthError> {
    let secret = registered.secret.clone();
    let method = match registered.method {
        Some(method) => method,
        None => token_endpoint::method(secret.is_some(), known)?,
    };
    Ok(OauthClient { id: registered.id.clone(), secret, method })
}

/// Returns the client that a token was issued to, for renewing the token.
pub(super) fn from_tokens(settings: &Oauth, kept: &StoredCredentials) -> Option<OauthClient> {
    let tokens = kept.tokens.as_ref()?;
    let client =
        |secret| OauthClient { id: tokens.client_id.clone(), secret, method: tokens.method };
    if settings.client_id.as_deref() == Some(tokens.client_id.as_str()) {
        return Some(client(
            settings.private_key.clone().or_else(|| settings.client_secret.clone()),
        ));
    }
    let own = kept.client.as_ref();
    let own = own.filter(|own| own.id == tokens.client_id && own.issuer == tokens.issuer);
    Some(client(own.and_then(|own| own.secret.clone())))
}

/// Registers a client dynamically (RFC 7591).
async fn register(
    http: &HttpClient,
    issuer: &AuthorizationServer,
    redirect: &str,
) -> Result<RegisteredClient, AuthError> {
    let Some(endpoint) = &issuer.registration else {
        return Err(AuthError::Configuration(format!(
            "the authorization server {} registers no clients by itself: register one there with the redirect http://127.0.0.1/callback, and write its client_id into mcp.toml",
            bounded_text(&issuer.id)
        )));
    };
    let known = issuer.methods.as_deref().unwrap_or_default();
    let takes = |name: &str| known.iter().any(|one| one == name);
    let method = ["none", "client_secret_basic", "client_secret_post"]
        .into_iter()
        .find(|method| takes(method))
        .unwrap_or("none");
    let asked = json!({
        "client_name": "Toolcrib",
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    });
    let (status, answer) =
        oauth_http::post_form(http, endpoint, "application/json", asked.to_string(), None).await?;
    if !(200..300).contains(&status) {
        return Err(token_endpoint::oauth_error(&answer, status));
    }
    let text = |key: &str| {
        let text = answer.get(key).and_then(Value::as_str);
        text.filter(|text| !text.is_empty() && text.len() <= LONGEST).map(str::to_owned)
    };
    let id = text("client_id").ok_or_else(|| {
        AuthError::Unusable("the authorization server registered a client without an id".to_owned())
    })?;
    let method = answer.get("token_endpoint_auth_method").cloned();
    Ok(RegisteredClient {
        issuer: issuer.id.clone(),
        id,
        secret: text("client_secret"),
        method: method.and_then(|method| serde_json::from_value(method).ok()),
        redirect: redirect.to_owned(),
        // 0 means that the secret does not expire.
        until: answer.get("client_secret_expires_at").and_then(Value::as_u64).filter(|at| *at > 0),
    })
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn issuer(id: &str) -> AuthorizationServer {
        AuthorizationServer {
            id: id.to_owned(),
            authorization: None,
            token: Url::parse("https://l.org/t").unwrap(),
            registration: None,
            methods: None,
            scopes: Vec::new(),
            proves_keys: true,
            takes_documents: false,
            names_itself: false,
        }
    }

    #[test]
    fn a_client_is_shown_to_its_own_authorization_server_alone() {
        let check = |own: Option<&str>, before: Option<&str>, now: &str, good: bool| {
            let settings = Oauth {
                client_id: Some("me".to_owned()),
                client_secret: Some("secret".to_owned()),
                issuer: own.map(str::to_owned),
                ..Oauth::default()
            };
            let kept = StoredCredentials {
                issuer: before.map(str::to_owned),
                ..StoredCredentials::default()
            };
            let found = from_settings(&settings, &issuer(now), &kept);
            assert_eq!(found.is_ok(), good, "{own:?} {before:?} {now}");
        };
        check(Some("https://l.org"), None, "https://l.org/", true);
        check(Some("https://l.org"), None, "https://m.org", false);
        check(None, None, "https://m.org", true);
        check(None, Some("https://l.org"), "https://m.org", false);
        // The configuration takes precedence over the stored issuer.
        check(Some("https://m.org"), Some("https://l.org"), "https://m.org", true);
    }
}
