//! OAuth discovery: metadata of the protected resource (RFC 9728), then of the authorization server
//! (RFC 8414, OpenID Connect Discovery).
#![deny(clippy::indexing_slicing)]

use serde_json::Value;
use toolcrib_net::HttpClient;
use url::Url;

use super::{AuthError, bounded_text, oauth_http, url_policy};

/// Maximum number of entries of a list that are read.
const ENTRIES: usize = 100;

/// Metadata of a protected resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProtectedResource {
    /// Its resource identifier, exactly as published.
    pub(super) id: String,
    /// Its authorization servers, in order of preference.
    pub(super) issuers: Vec<String>,
    /// The scopes it supports, if listed.
    pub(super) scopes: Option<Vec<String>>,
}

/// Metadata of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthorizationServer {
    /// Its issuer.
    pub(super) id: String,
    pub(super) authorization: Option<Url>,
    pub(super) token: Url,
    pub(super) registration: Option<Url>,
    /// Supported authentication methods of the token endpoint; `None` if not listed.
    pub(super) methods: Option<Vec<String>>,
    pub(super) scopes: Vec<String>,
    /// Whether it supports PKCE with S256, which a login requires.
    pub(super) proves_keys: bool,
    /// Whether the URL of a client metadata document can be a client id.
    pub(super) takes_documents: bool,
    /// Whether its redirects carry the issuer (RFC 9207).
    pub(super) names_itself: bool,
}

fn text<'a>(document: &'a Value, key: &str) -> Option<&'a str> {
    document.get(key).and_then(Value::as_str)
}

fn texts(document: &Value, key: &str) -> Option<Vec<String>> {
    let all = document.get(key)?.as_array()?.iter().filter_map(Value::as_str);
    Some(all.take(ENTRIES).map(str::to_owned).collect())
}

/// Returns the URL with another path.
fn at(url: &Url, path: &str) -> Url {
    let mut at = url.clone();
    at.set_path(path);
    at.set_query(None);
    at.set_fragment(None);
    at
}

/// Fetches the resource metadata: from the URL in the challenge, otherwise from the well-known URL
/// of the server, otherwise from that of its host. Without metadata the host itself is the
/// authorization server, as in the first MCP revision.
pub(super) async fn fetch_resource(
    http: &HttpClient,
    server: &Url,
    named: Option<&str>,
) -> Result<ProtectedResource, AuthError> {
    let places = match named {
        Some(named) => vec![url_policy::check_url(named, "the address of its metadata", server)?],
        None => {
            let root = "/.well-known/oauth-protected-resource";
            let own = at(server, &format!("{root}{}", server.path().trim_end_matches('/')));
            let of_host = at(server, root);
            if own == of_host { vec![own] } else { vec![own, of_host] }
        }
    };
    for url in places {
        if let Some(document) = oauth_http::fetch_json(http, &url).await? {
            return read_resource(&document, server);
        }
    }
    if named.is_some() {
        return Err(AuthError::Unusable("its metadata are not where it says".to_owned()));
    }
    let mut id = server.clone();
    id.set_fragment(None);
    let issuer = at(server, "").as_str().trim_end_matches('/').to_owned();
    Ok(ProtectedResource { id: id.into(), issuers: vec![issuer], scopes: None })
}

fn read_resource(document: &Value, server: &Url) -> Result<ProtectedResource, AuthError> {
    let bad = |words: String| Err(AuthError::Unusable(words));
    let Some(id) = text(document, "resource") else {
        return bad("its metadata do not say what they are about".to_owned());
    };
    if !Url::parse(id).is_ok_and(|id| url_policy::covers(&id, server)) {
        return bad(format!("its metadata are about another server: {}", bounded_text(id)));
    }
    let issuers = texts(document, "authorization_servers").unwrap_or_default();
    if issuers.is_empty() {
        return bad("its metadata name no authorization server".to_owned());
    }
    Ok(ProtectedResource {
        id: id.to_owned(),
        issuers,
        scopes: texts(document, "scopes_supported"),
    })
}

/// Fetches the metadata of an authorization server.
pub(super) async fn fetch_issuer(
    http: &HttpClient,
    id: &str,
    server: &Url,
) -> Result<AuthorizationServer, AuthError> {
    let url = url_policy::check_url(id, "the authorization server", server)?;
    let path = url.path().trim_end_matches('/');
    let mut places = vec![
        at(&url, &format!("/.well-known/oauth-authorization-server{path}")),
        at(&url, &format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        places.push(at(&url, &format!("{path}/.well-known/openid-configuration")));
    }
    for place in places {
        if let Some(document) = oauth_http::fetch_json(http, &place).await? {
            return read_issuer(&document, id, server);
        }
    }
    Err(AuthError::Unusable(format!(
        "the authorization server {} has no metadata; if the server takes a fixed token, give it as a header in mcp.toml",
        bounded_text(id)
    )))
}

fn read_issuer(document: &Value, id: &str, server: &Url) -> Result<AuthorizationServer, AuthError> {
    let own = text(document, "issuer").unwrap_or_default();
    // A URL without a path is the same with and without its trailing slash; otherwise the issuer
    // must match exactly (RFC 8414 3.3).
    let is_same = own == id || own.trim_end_matches('/') == id.trim_end_matches('/');
    if own.is_empty() || !is_same {
        return Err(AuthError::Unusable(format!(
            "the metadata of the authorization server {} are those of another: {}",
            bounded_text(id),
            bounded_text(own)
        )));
    }
    let endpoint = |key: &str, what: &str| {
        text(document, key).map(|url| url_policy::check_url(url, what, server)).transpose()
    };
    let token = endpoint("token_endpoint", "its token endpoint")?;
    let methods = texts(document, "code_challenge_methods_supported").unwrap_or_default();
    let says = |key: &str| document.get(key).and_then(Value::as_bool) == Some(true);
    Ok(AuthorizationServer {
        id: own.to_owned(),
        authorization: endpoint("authorization_endpoint", "its authorization endpoint")?,
        token: token.ok_or_else(|| {
            AuthError::Unusable("the authorization server names no token endpoint".to_owned())
        })?,
        registration: endpoint("registration_endpoint", "its registration endpoint")?,
        methods: texts(document, "token_endpoint_auth_methods_supported"),
        scopes: texts(document, "scopes_supported").unwrap_or_default(),
        proves_keys: methods.iter().any(|method| method == "S256"),
        takes_documents: says("client_id_metadata_document_supported"),
        names_itself: says("authorization_response_iss_parameter_supported"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server() -> Url {
        Url::parse("https://a.org/mcp").unwrap()
    }

    #[test]
    fn metadata_of_another_server_are_refused() {
        let check = |document: Value, part: Option<&str>| {
            let read = read_resource(&document, &server());
            match part {
                None => assert!(read.is_ok(), "{document}"),
                Some(part) => {
                    let error = read.unwrap_err().to_string();
                    assert!(error.contains(part), "{document}: {error}");
                }
            }
        };
        let good = json!(["https://login.org"]);
        check(json!({"resource": "https://a.org/mcp", "authorization_servers": good}), None);
        check(json!({"resource": "https://a.org", "authorization_servers": good}), None);
        check(
            json!({"resource": "https://b.org/mcp", "authorization_servers": good}),
            Some("another server"),
        );
        check(json!({"resource": "a", "authorization_servers": good}), Some("another server"));
        check(json!({"authorization_servers": good}), Some("what they are about"));
        check(json!({"resource": "https://a.org"}), Some("no authorization server"));
        check(
            json!({"resource": "https://a.org", "authorization_servers": [7]}),
            Some("no authorization server"),
        );
    }

    #[test]
    fn metadata_of_another_authorization_server_are_refused() {
        let check = |id: &str, document: Value, part: Option<&str>| {
            let read = read_issuer(&document, id, &server());
            match part {
                None => assert!(read.is_ok(), "{document}: {read:?}"),
                Some(part) => {
                    let error = read.unwrap_err().to_string();
                    assert!(error.contains(part), "{document}: {error}");
                }
            }
        };
        let of = |issuer: &str, token: &str| json!({"issuer": issuer, "token_endpoint": token});
        let token = "https://l.org/t";
        check("https://l.org", of("https://l.org", token), None);
        check("https://l.org/", of("https://l.org", token), None);
        check("https://l.org", of("https://m.org", token), Some("those of another"));
        check("https://l.org", of("https://L.org", token), Some("those of another"));
        check("https://l.org", json!({"token_endpoint": token}), Some("those of another"));
        check("https://l.org", of("https://l.org", "http://l.org/t"), Some("not over https"));
        check("https://l.org", of("https://l.org", "https://127.0.0.1/t"), Some("on this machine"));
        check("https://l.org", json!({"issuer": "https://l.org"}), Some("no token endpoint"));
    }
}
