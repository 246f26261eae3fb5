//! OAuth login: authorization code flow with PKCE and issuer check (RFC 6749 4.1, RFC 7636, RFC
//! 9207).
#![deny(clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use toolcrib_net::HttpClient;
use url::Url;

use super::metadata::{self, AuthorizationServer, ProtectedResource};
use super::oauth_settings::Oauth;
use super::stored_credentials::{AuthorizationNeed, StoredCredentials, StoredTokens};
use super::token_endpoint::{Form, OauthClient, TokenRequest, TokenResponse, now, random_token};
use super::{AuthError, bounded_text, client_registration};

/// How often in a row the same scopes may be requested again.
const MAX_REPEATED_REQUESTS: u32 = 1;

/// A login that waits for the redirect.
pub struct Login {
    http: HttpClient,
    url: Url,
    state: String,
    verifier: String,
    redirect: String,
    issuer: AuthorizationServer,
    client: OauthClient,
    resource: String,
    scopes: Vec<String>,
    /// Whether the same scopes were requested before and were not sufficient.
    again: bool,
    kept: StoredCredentials,
}

/// Discovers the authorization server of a protected resource.
pub(super) async fn discover_issuer(
    http: &HttpClient,
    server: &Url,
    settings: &Oauth,
    kept: &StoredCredentials,
) -> Result<(ProtectedResource, AuthorizationServer), AuthError> {
    let resource = metadata::fetch_resource(http, server, kept.metadata.as_deref()).await?;
    let known = kept.client.as_ref().map(|client| &client.issuer);
    let wanted = settings.issuer.as_ref().or(kept.issuer.as_ref()).or(known);
    let is_wanted =
        |id: &&String| wanted.is_some_and(|own| client_registration::same_issuer(own, id));
    let id = resource.issuers.iter().find(is_wanted).or_else(|| resource.issuers.first());
    let none = || AuthError::Unusable("it names no authorization server".to_owned());
    let id = id.ok_or_else(none)?;
    if let Some(own) =
        settings.issuer.as_ref().filter(|own| !client_registration::same_issuer(own, id))
    {
        return Err(AuthError::Unusable(format!(
            "it names the authorization server {}, and its configuration {}",
            bounded_text(id),
            bounded_text(own)
        )));
    }
    let issuer = metadata::fetch_issuer(http, id, server).await?;
    Ok((resource, issuer))
}

/// Returns the scopes to request: the configured ones, otherwise those in the server's challenge,
/// otherwise all that it supports; plus all earlier ones if those were insufficient.
pub(super) fn scopes(
    settings: &Oauth,
    resource: &ProtectedResource,
    issuer: &AuthorizationServer,
    kept: &StoredCredentials,
) -> Vec<String> {
    let need = kept.need.clone().unwrap_or_default();
    let mut scopes = match (need.insufficient, settings.scopes.is_empty()) {
        (true, _) => [kept.asked.clone(), need.scopes.unwrap_or_default()].concat(),
        (false, false) => settings.scopes.clone(),
        (false, true) => need.scopes.or_else(|| resource.scopes.clone()).unwrap_or_default(),
    };
    // Some servers issue a refresh token only with this scope.
    let offline = "offline_access";
    if !scopes.is_empty() && !settings.is_unattended() && issuer.scopes.iter().any(|s| s == offline)
    {
        scopes.push(offline.to_owned());
    }
    let mut seen = std::collections::HashSet::new();
    scopes.retain(|scope| seen.insert(scope.clone()));
    scopes
}

/// Returns whether a server requests scopes again. They are requested once more, since users may
/// grant differently; a further repetition is an error.
pub(super) fn has_asked_before(kept: &StoredCredentials) -> Result<bool, AuthError> {
    let Some(AuthorizationNeed { insufficient: true, scopes, .. }) = &kept.need else {
        return Ok(false);
    };
    let scopes = scopes.clone().unwrap_or_default();
    let again = scopes.iter().all(|scope| kept.asked.contains(scope));
    if again && kept.in_vain >= MAX_REPEATED_REQUESTS {
        return Err(AuthError::ScopesInVain(bounded_text(&scopes.join(" "))));
    }
    Ok(again)
}

/// Stores an issued token.
pub(super) fn store_tokens(
    kept: &mut StoredCredentials,
    given: TokenResponse,
    issuer: &AuthorizationServer,
    client: &OauthClient,
    resource: &str,
    scopes: Vec<String>,
    again: bool,
) {
    kept.tokens = Some(StoredTokens {
        issuer: issuer.id.clone(),
        endpoint: issuer.token.to_string(),
        resource: resource.to_owned(),
        client_id: client.id.clone(),
        method: client.method,
        access: given.access,
        refresh: given.refresh,
        renew_at: given.expires_in.map(renew_at),
        scopes: given.scopes.unwrap_or_else(|| scopes.clone()),
    });
    kept.issuer = Some(issuer.id.clone());
    kept.need = None;
    kept.asked = scopes;
    kept.in_vain = if again { kept.in_vain + 1 } else { 0 };
}

/// Shortest assumed lifetime of a token in seconds, so that not every request renews it. If it
/// expires earlier, the server rejects it.
const SHORTEST_LIFE: u64 = 60;

/// Returns when to renew a token with this lifetime, in seconds since 1970: 30 s before its end, or
/// after half of its lifetime if that is earlier.
pub(super) fn renew_at(holds: u64) -> u64 {
    let holds = holds.max(SHORTEST_LIFE);
    now() + holds - (holds / 2).min(30)
}

impl Login {
    /// Discovers the authorization server, registers a client if necessary, and builds the URL for
    /// the browser. `settings` has its secrets resolved.
    pub(super) async fn begin(
        http: HttpClient,
        server: &Url,
        settings: &Oauth,
        mut kept: StoredCredentials,
        redirect: &str,
    ) -> Result<Self, AuthError> {
        let again = has_asked_before(&kept)?;
        let (resource, issuer) = discover_issuer(&http, server, settings, &kept).await?;
        let Some(authorization) = issuer.authorization.clone() else {
            return Err(AuthError::Unusable(
                "the authorization server lets no person in".to_owned(),
            ));
        };
        if !issuer.proves_keys {
            return Err(AuthError::Unusable(format!(
                "the authorization server {} does not say that it takes PKCE with S256, without which a login is not safe",
                bounded_text(&issuer.id)
            )));
        }
        let client =
            client_registration::client_for_login(&http, settings, &issuer, redirect, &mut kept)
                .await?;
        let scopes = scopes(settings, &resource, &issuer, &kept);
        let (state, verifier) = (random_token()?, random_token()?);
        let mut url = authorization;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", redirect)
            .append_pair("state", &state)
            .append_pair("code_challenge", &proof(&verifier))
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &resource.id);
        if !scopes.is_empty() {
            url.query_pairs_mut().append_pair("scope", &scopes.join(" "));
        }
        let redirect = redirect.to_owned();
        let resource = resource.id;
        Ok(Self {
            http,
            url,
            state,
            verifier,
            redirect,
            issuer,
            client,
            resource,
            scopes,
            again,
            kept,
        })
    }

    /// Returns the URL to open in a browser.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Returns the authorization server.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer.id
    }

    /// Returns the requested scopes; empty requests the server's default.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Returns whether this redirect belongs to this login: its state and its address match.
    #[must_use]
    pub fn is_answered_by(&self, redirected: &str) -> bool {
        let Ok(url) = Url::parse(redirected.trim()) else { return false };
        let mut states = url.query_pairs().filter(|(name, _)| name == "state");
        let is_own = states.next().is_some_and(|(_, state)| state == self.state.as_str());
        is_own && states.next().is_none() && redirected.trim().starts_with(&self.redirect)
    }

    /// Parses the redirect URL, and requests the token.
    pub(super) async fn finish(&self, redirected: &str) -> Result<StoredCredentials, AuthError> {
        let code = self.code(redirected)?;
        let form: Form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code),
            ("redirect_uri", self.redirect.clone()),
            ("code_verifier", self.verifier.clone()),
            ("resource", self.resource.clone()),
        ];
        let (http, issuer, client) = (&self.http, &self.issuer, &self.client);
        let asking = TokenRequest { http, issuer: &issuer.id, endpoint: &issuer.token, client };
        let given = asking.request_tokens(form).await?;
        let mut kept = self.kept.clone();
        store_tokens(
            &mut kept,
            given,
            issuer,
            client,
            &self.resource,
            self.scopes.clone(),
            self.again,
        );
        Ok(kept)
    }

    /// Returns the code in a redirect that belongs to this login and comes from the right issuer.
    fn code(&self, redirected: &str) -> Result<String, AuthError> {
        let url = Url::parse(redirected.trim()).map_err(|_| AuthError::ForeignRedirect)?;
        let value = |name: &str| {
            let mut found = url.query_pairs().filter(|(own, _)| own == name);
            let value = found.next().map(|(_, value)| value.into_owned());
            // A duplicate parameter is ambiguous and treated as missing.
            value.filter(|_| found.next().is_none())
        };
        if value("state").as_deref() != Some(self.state.as_str()) {
            return Err(AuthError::ForeignRedirect);
        }
        let iss = url.query_pairs().any(|(name, _)| name == "iss");
        match value("iss") {
            Some(iss) if iss != self.issuer.id => {
                return Err(AuthError::Unusable(format!(
                    "the answer comes from another authorization server: {}",
                    bounded_text(&iss)
                )));
            }
            None if iss || self.issuer.names_itself => {
                return Err(AuthError::Unusable(
                    "the answer does not say which authorization server it comes from".to_owned(),
                ));
            }
            _ => {}
        }
        if let Some(error) = value("error") {
            let error = bounded_text(&error);
            return Err(AuthError::Refused(match value("error_description") {
                Some(words) => format!("{error} ({})", bounded_text(&words)),
                None => error,
            }));
        }
        value("code").ok_or_else(|| AuthError::Unusable("the answer holds no code".to_owned()))
    }
}

/// Returns the PKCE code challenge of a verifier (RFC 7636 4.2).
fn proof(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proof_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(proof(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    fn login(names_itself: bool) -> Login {
        let url = |text: &str| Url::parse(text).unwrap();
        Login {
            http: HttpClient::new(toolcrib_net::AddressPolicy::public_only()),
            url: url("https://l.org/a"),
            state: "s".to_owned(),
            verifier: "v".to_owned(),
            redirect: "http://127.0.0.1:1/callback".to_owned(),
            issuer: AuthorizationServer {
                id: "https://l.org".to_owned(),
                authorization: None,
                token: url("https://l.org/t"),
                registration: None,
                methods: None,
                scopes: vec!["offline_access".to_owned()],
                proves_keys: true,
                takes_documents: false,
                names_itself,
            },
            client: OauthClient {
                id: "c".to_owned(),
                secret: None,
                method: crate::client::oauth::stored_credentials::AuthMethod::None,
            },
            resource: "https://a.org".to_owned(),
            scopes: Vec::new(),
            again: false,
            kept: StoredCredentials::default(),
        }
    }

    #[test]
    fn a_redirect_belongs_to_the_login_with_its_state() {
        let check = |redirected: &str, expected: bool| {
            assert_eq!(login(false).is_answered_by(redirected), expected, "{redirected}");
        };
        check("http://127.0.0.1:1/callback?code=c&state=s", true);
        check("http://127.0.0.1:1/callback?error=access_denied&state=s", true);
        check("http://127.0.0.1:1/callback?code=c&state=other", false);
        check("http://127.0.0.1:1/callback?code=c&state=s&state=s", false);
        check("http://127.0.0.1:1/callback?code=c", false);
        check("http://127.0.0.2:1/callback?code=c&state=s", false);
        check("no address", false);
    }

    #[test]
    fn a_token_without_a_life_is_not_renewed_for_each_request() {
        for holds in [0, 1, 59] {
            assert!(renew_at(holds) >= now() + 25, "{holds}");
        }
        assert!(renew_at(3600) > now() + 3500);
    }

    /// Starts a local server that answers every request with an HTML page.
    async fn pages() -> Url {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let answer =
                    "HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\nwelcome";
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Url::parse(&url).unwrap()
    }

    #[tokio::test]
    async fn a_page_is_no_metadata_and_no_other_issuer_than_that_of_the_owner_is_asked() {
        let server = pages().await;
        let http =
            HttpClient::new(toolcrib_net::AddressPolicy::with_allowed(["127.0.0.0/8"]).unwrap());
        let check = async |issuer: Option<&str>, part: &str| {
            let settings = Oauth { issuer: issuer.map(str::to_owned), ..Oauth::default() };
            let found =
                discover_issuer(&http, &server, &settings, &StoredCredentials::default()).await;
            let error = found.unwrap_err().to_string();
            assert!(error.contains(part), "{issuer:?}: {error}");
        };
        check(None, "has no metadata").await;
        check(Some("https://l.org"), "and its configuration https://l.org").await;
        let own = server.as_str().trim_end_matches("/mcp");
        check(Some(own), "has no metadata").await;
    }

    #[test]
    fn only_an_answer_of_the_server_that_was_asked_has_a_code() {
        let check = |names_itself: bool, query: &str, found: Result<&str, &str>| {
            let code = login(names_itself).code(&format!("http://127.0.0.1:1/callback?{query}"));
            match found {
                Ok(found) => assert_eq!(code.as_deref(), Ok(found), "{query}"),
                Err(part) => {
                    let error = code.unwrap_err().to_string();
                    assert!(error.contains(part), "{query}: {error}");
                }
            }
        };
        check(false, "code=x&state=s", Ok("x"));
        check(true, "code=x&state=s&iss=https%3A%2F%2Fl.org", Ok("x"));
        check(true, "code=x&state=s", Err("does not say which"));
        check(
            true,
            "code=x&state=s&iss=https%3A%2F%2Fl.org%2F",
            Err("another authorization server"),
        );
        check(false, "code=x&state=s&iss=https://m.org", Err("another authorization server"));
        check(
            false,
            "code=x&state=s&iss=https://l.org&iss=https://m.org",
            Err("does not say which"),
        );
        check(false, "code=x&state=t", Err("does not belong"));
        check(false, "code=x", Err("does not belong"));
        check(false, "code=x&state=s&state=s", Err("does not belong"));
        check(false, "code=x&code=y&state=s", Err("no code"));
        check(false, "state=s", Err("no code"));
        check(false, "error=access_denied&state=s", Err("refused: access_denied"));
        check(true, "error=access_denied&state=s", Err("does not say which"));
    }

    #[test]
    fn scopes_are_those_of_the_owner_then_of_the_challenge_then_of_the_server() {
        let issuer = login(false).issuer;
        let all = |scopes: &[&str]| scopes.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let resource = |scopes: Option<&[&str]>| ProtectedResource {
            id: String::new(),
            issuers: Vec::new(),
            scopes: scopes.map(all),
        };
        let check = |own: &[&str],
                     need: Option<(&[&str], bool)>,
                     known: Option<&[&str]>,
                     expected: &[&str]| {
            let settings = Oauth { scopes: all(own), ..Oauth::default() };
            let need = need.map(|(scopes, insufficient)| AuthorizationNeed {
                scopes: Some(all(scopes)),
                insufficient,
            });
            let kept =
                StoredCredentials { need, asked: all(&["before"]), ..StoredCredentials::default() };
            assert_eq!(scopes(&settings, &resource(known), &issuer, &kept), expected);
        };
        check(&["own"], Some((&["b"], false)), Some(&["c"]), &["own", "offline_access"]);
        check(&[], Some((&["b"], false)), Some(&["c"]), &["b", "offline_access"]);
        check(&[], None, Some(&["c"]), &["c", "offline_access"]);
        check(&[], None, None, &[]);
        check(&["own"], Some((&["b", "before"], true)), None, &["before", "b", "offline_access"]);
    }

    #[test]
    fn scopes_are_asked_for_in_vain_once() {
        let check = |insufficient: bool, wanted: &str, in_vain: u32, expected: Result<bool, ()>| {
            let need =
                Some(AuthorizationNeed { scopes: Some(vec![wanted.to_owned()]), insufficient });
            let kept = StoredCredentials {
                need,
                asked: vec!["a".to_owned()],
                in_vain,
                ..StoredCredentials::default()
            };
            assert_eq!(has_asked_before(&kept).map_err(drop), expected, "{wanted} {in_vain}");
        };
        check(true, "a", 0, Ok(true));
        check(true, "a", 1, Err(()));
        check(true, "b", 1, Ok(false));
        check(false, "a", 1, Ok(false));
    }
}
