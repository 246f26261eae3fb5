//! Scripted login: opens the authorization URL and follows the redirect immediately, in place of a
//! person with a browser.

use std::collections::BTreeMap;

use serde_json::Value;
use toolcrib_core::ErrorType;
use toolcrib_mcp::client::{Connection, GrantKind, Oauth};
use toolcrib_net::{Follow, HttpClient, Limits, Request};

use super::Failed;

/// The redirect URI of the authorization server. The port has no listener: the code is taken from
/// the redirect's URL.
const REDIRECT: &str = "http://127.0.0.1:3000/callback";
/// URL of this client's metadata document in the suite.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Returns the configuration for a scenario, and its secrets.
pub(super) fn of_context(context: &Value) -> (Oauth, BTreeMap<String, String>) {
    let mut secrets = BTreeMap::new();
    let text = |key: &str| context[key].as_str().map(str::to_owned);
    let mut secret = |key: &str| {
        let value = text(key)?;
        secrets.insert(key.to_owned(), value);
        Some(format!("secret:{key}"))
    };
    let private_key = secret("private_key_pem");
    let client_secret = secret("client_secret");
    let (workload, company) = (secret("valid_jwt"), secret("idp_id_token"));
    let grant = match (&workload, &company) {
        (Some(_), _) => GrantKind::JwtBearer,
        (_, Some(_)) => GrantKind::Enterprise,
        _ if text("client_id").is_some() && text("issuer").is_none() => {
            GrantKind::ClientCredentials
        }
        _ => GrantKind::AuthorizationCode,
    };
    let oauth = Oauth {
        grant,
        client_id: text("client_id"),
        client_secret,
        private_key,
        client_metadata_url: Some(DOCUMENT.to_owned()),
        issuer: text("issuer"),
        assertion: workload.or(company),
        idp_token_endpoint: text("idp_token_endpoint"),
        idp_client_id: text("idp_client_id"),
        ..Oauth::default()
    };
    (oauth, secrets)
}

/// Authorizes as long as the server requires it before anything else.
pub(super) async fn while_needed(connection: &Connection, http: &HttpClient) -> Result<(), Failed> {
    loop {
        match connection.connect().await {
            Err(error) if error.error_type == ErrorType::NotConfigured => {
                once(connection, http).await?;
            }
            // The state contains any other error.
            _ => return Ok(()),
        }
    }
}

/// Authorizes once. The connection reports repeated logins without effect.
pub(super) async fn once(connection: &Connection, http: &HttpClient) -> Result<(), Failed> {
    let login = connection.login(REDIRECT).await?;
    eprintln!("agreeing at {} to {:?}", login.issuer(), login.scopes());
    let request = Request { follow: Follow::Never, ..Request::get(login.url()) };
    let answer = http.fetch(&request, &Limits::default()).await?;
    let redirect = answer.head.header("location").ok_or("it does not send the person back")?;
    connection.finish_login(&login, redirect).await?;
    Ok(())
}
