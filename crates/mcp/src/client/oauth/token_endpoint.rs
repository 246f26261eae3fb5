//! Token endpoint: client authentication, token requests and responses (RFC 6749 4 to 6, RFC 7523,
//! RFC 8693).
#![deny(clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Value;
use toolcrib_net::HttpClient;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::stored_credentials::AuthMethod;
use super::{AuthError, bounded_text, client_assertion, oauth_http};

/// Maximum bytes of a token, and of its scopes.
const TOKEN_BYTES: usize = 16 * 1024;
/// Longest token lifetime that is accepted, in seconds.
const LONGEST_LIFE: u64 = 10 * 365 * 24 * 3600;

/// A client of an authorization server.
#[derive(Clone)]
pub(super) struct OauthClient {
    pub(super) id: String,
    /// Its secret or private key, depending on the method.
    pub(super) secret: Option<String>,
    pub(super) method: AuthMethod,
}

/// A token request: endpoint and client.
pub(super) struct TokenRequest<'a> {
    pub(super) http: &'a HttpClient,
    /// The issuer of the authorization server.
    pub(super) issuer: &'a str,
    pub(super) endpoint: &'a Url,
    pub(super) client: &'a OauthClient,
}

/// A token response.
#[derive(Clone, PartialEq)]
pub(super) struct TokenResponse {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    /// Lifetime in seconds.
    pub(super) expires_in: Option<u64>,
    /// Granted scopes; `None` means as requested.
    pub(super) scopes: Option<Vec<String>>,
}

pub(super) type Form = Vec<(&'static str, String)>;

/// Returns an unpredictable text of 43 characters (256 bits).
pub(super) fn random_token() -> Result<String, AuthError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| AuthError::Configuration("the system has no random source".to_owned()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the seconds since 1970.
pub(super) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Chooses the authentication method for a client with or without a secret, among those that the
/// server supports.
pub(super) fn method(has_secret: bool, known: Option<&[String]>) -> Result<AuthMethod, AuthError> {
    if !has_secret {
        return Ok(AuthMethod::None);
    }
    let Some(known) = known else { return Ok(AuthMethod::ClientSecretBasic) };
    let takes = |name: &str| known.iter().any(|one| one == name);
    match () {
        () if takes("client_secret_basic") => Ok(AuthMethod::ClientSecretBasic),
        () if takes("client_secret_post") => Ok(AuthMethod::ClientSecretPost),
        () if takes("none") => Ok(AuthMethod::None),
        () => Err(AuthError::Configuration(format!(
            "the authorization server takes no client secret, but {}",
            bounded_text(&known.join(", "))
        ))),
    }
}

/// Form-encodes a client id or secret (RFC 6749 2.3.1).
fn encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

impl TokenRequest<'_> {
    /// Sends the request once.
    ///
    /// # Errors
    /// [`AuthError::Refused`] for a definite refusal, [`AuthError::Unreachable`] if a later attempt
    /// may succeed.
    pub(super) async fn request_tokens(&self, mut form: Form) -> Result<TokenResponse, AuthError> {
        read(&self.answer(&mut form).await?)
    }

    /// Exchanges a token for one of another type, which is returned as text.
    pub(super) async fn exchange_token(&self, mut form: Form) -> Result<String, AuthError> {
        let answer = self.answer(&mut form).await?;
        let token = answer.get("access_token").and_then(Value::as_str);
        token.map(str::to_owned).ok_or_else(|| no_token("it holds no token"))
    }

    async fn answer(&self, form: &mut Form) -> Result<Value, AuthError> {
        let authorization = self.authenticate(form)?;
        let body = Serializer::new(String::new()).extend_pairs(form.iter()).finish();
        let media_type = "application/x-www-form-urlencoded";
        let (status, answer) =
            oauth_http::post_form(self.http, self.endpoint, media_type, body, authorization)
                .await?;
        let host = self.endpoint.host_str().unwrap_or_default();
        match status {
            200..300 if answer.is_object() => Ok(answer),
            429 | 500.. => Err(AuthError::Unreachable(format!("{host}: HTTP {status}"))),
            400..500 => Err(oauth_error(&answer, status)),
            _ => Err(no_token(&format!("HTTP {status}"))),
        }
    }

    /// Adds the client's credentials to the form, or returns them as a header.
    fn authenticate(&self, form: &mut Form) -> Result<Option<String>, AuthError> {
        let OauthClient { id, secret, method } = self.client;
        let secret = || {
            let missing =
                || AuthError::Configuration("the secret of its client is missing".to_owned());
            secret.clone().ok_or_else(missing)
        };
        match method {
            AuthMethod::None => form.push(("client_id", id.clone())),
            AuthMethod::ClientSecretPost => {
                form.push(("client_id", id.clone()));
                form.push(("client_secret", secret()?));
            }
            AuthMethod::ClientSecretBasic => {
                let pair = format!("{}:{}", encoded(id), encoded(&secret()?));
                return Ok(Some(format!("Basic {}", STANDARD.encode(pair))));
            }
            AuthMethod::PrivateKeyJwt => {
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                let statement = client_assertion::client_assertion(
                    &secret()?,
                    id,
                    self.issuer,
                    &random_token()?,
                    now(),
                )?;
                form.push(("client_id", id.clone()));
                form.push(("client_assertion_type", kind.to_owned()));
                form.push(("client_assertion", statement));
            }
        }
        Ok(None)
    }
}

fn no_token(why: &str) -> AuthError {
    AuthError::Unusable(format!("the answer of the authorization server cannot be used: {why}"))
}

/// Creates the error of a refused request (RFC 6749 5.2).
pub(super) fn oauth_error(answer: &Value, status: u16) -> AuthError {
    let word = |key: &str| answer.get(key).and_then(Value::as_str).map(bounded_text);
    let error = word("error").unwrap_or_else(|| format!("HTTP {status}"));
    AuthError::Refused(match word("error_description") {
        Some(description) => format!("{error} ({description})"),
        None => error,
    })
}

/// Parses a successful response (RFC 6749 5.1).
fn read(answer: &Value) -> Result<TokenResponse, AuthError> {
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    let fits = |token: &&str| {
        !token.is_empty()
            && token.len() <= TOKEN_BYTES
            && token.bytes().all(|b| b.is_ascii_graphic())
    };
    let access = text("access_token").filter(fits).ok_or_else(|| no_token("it holds no token"))?;
    if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(no_token("its token is not a bearer token"));
    }
    let seconds = answer.get("expires_in").and_then(|seconds| match seconds {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().or_else(|| other.as_f64().map(|seconds| seconds.max(0.0) as u64)),
    });
    let scopes = text("scope").filter(|scopes| scopes.len() <= TOKEN_BYTES);
    Ok(TokenResponse {
        access: access.to_owned(),
        refresh: text("refresh_token").filter(fits).map(str::to_owned),
        expires_in: seconds.map(|seconds: u64| seconds.min(LONGEST_LIFE)),
        scopes: scopes.map(|all| all.split_ascii_whitespace().map(str::to_owned).collect()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_token_is_not_taken() {
        let check = |answer: Value, part: Option<&str>| match (read(&answer), part) {
            (Ok(_), None) => {}
            (Err(error), Some(part)) => {
                assert!(error.to_string().contains(part), "{answer}: {error}");
            }
            (read, _) => panic!("{answer}: {}", read.is_ok()),
        };
        check(json!({"access_token": "a.b-c~", "token_type": "Bearer"}), None);
        check(json!({"access_token": "a", "token_type": "bearer", "expires_in": "60"}), None);
        check(json!({"access_token": "a", "token_type": "DPoP"}), Some("not a bearer"));
        check(json!({"access_token": "a"}), Some("not a bearer"));
        check(json!({"token_type": "bearer"}), Some("no token"));
        check(json!({"access_token": "a\r\nX: y", "token_type": "bearer"}), Some("no token"));
        check(
            json!({"access_token": "a".repeat(20_000), "token_type": "bearer"}),
            Some("no token"),
        );
    }

    #[test]
    fn the_life_of_a_token_is_read_in_every_form() {
        let check = |seconds: Value, holds: Option<u64>| {
            let given =
                read(&json!({"access_token": "a", "token_type": "bearer", "expires_in": seconds}));
            assert_eq!(given.ok().and_then(|given| given.expires_in), holds, "{seconds}");
        };
        check(json!(60), Some(60));
        check(json!("60"), Some(60));
        check(json!(59.9), Some(59));
        check(json!(-5), Some(0));
        check(json!(u64::MAX), Some(LONGEST_LIFE));
        check(json!("soon"), None);
        check(json!(null), None);
    }

    #[test]
    fn the_way_to_show_who_we_are_is_one_that_is_taken() {
        let check = |secret: bool, known: Option<&[&str]>, found: Option<AuthMethod>| {
            let known: Option<Vec<String>> =
                known.map(|known| known.iter().map(|one| (*one).to_owned()).collect());
            assert_eq!(method(secret, known.as_deref()).ok(), found, "{secret} {known:?}");
        };
        check(false, Some(&["client_secret_basic"]), Some(AuthMethod::None));
        check(true, None, Some(AuthMethod::ClientSecretBasic));
        check(
            true,
            Some(&["client_secret_post", "client_secret_basic"]),
            Some(AuthMethod::ClientSecretBasic),
        );
        check(true, Some(&["client_secret_post"]), Some(AuthMethod::ClientSecretPost));
        check(true, Some(&["none"]), Some(AuthMethod::None));
        check(true, Some(&["tls_client_auth"]), None);
    }
}
