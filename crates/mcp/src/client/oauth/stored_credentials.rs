//! Stored OAuth state of a server, serialized as one secret.

use serde::{Deserialize, Serialize};

/// How a client authenticates at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AuthMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
    PrivateKeyJwt,
}

/// A dynamically registered client; used with its authorization server only.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RegisteredClient {
    pub(super) issuer: String,
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<AuthMethod>,
    pub(super) redirect: String,
    /// Expiry of its secret, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<u64>,
}

/// An access token with the data for its renewal.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredTokens {
    pub(super) issuer: String,
    pub(super) endpoint: String,
    pub(super) resource: String,
    pub(super) client_id: String,
    /// How the client authenticated.
    pub(super) method: AuthMethod,
    pub(super) access: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refresh: Option<String>,
    /// When it should be renewed and when it expires, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) renew_at: Option<u64>,
    /// The granted scopes.
    pub(super) scopes: Vec<String>,
}

/// The authorization that a server requested.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AuthorizationNeed {
    /// Scopes that it named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scopes: Option<Vec<String>>,
    /// Whether the token that was sent had insufficient scope.
    pub(super) insufficient: bool,
}

/// Stored OAuth state of one server. It contains tokens, so its JSON is a secret and it has no
/// `Debug`.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredCredentials {
    /// The server that it belongs to.
    pub(super) server: String,
    /// URL of the resource metadata from the challenge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<RegisteredClient>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<StoredTokens>,
    /// The authorization server with which the configured client was first used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) issuer: Option<String>,
    /// An authorization that the server requested and that is still missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) need: Option<AuthorizationNeed>,
    /// All scopes requested so far.
    pub(super) asked: Vec<String>,
    /// How often in a row the same scopes were requested again.
    pub(super) in_vain: u32,
}

impl StoredCredentials {
    /// Parses the JSON of [`to_json`](Self::to_json); empty if it belongs to another server or is
    /// invalid.
    #[must_use]
    pub fn parse(text: Option<&str>, server: &str) -> Self {
        let server = url::Url::parse(server).map_or_else(|_| server.to_owned(), String::from);
        let kept = text.and_then(|text| serde_json::from_str::<Self>(text).ok());
        kept.filter(|kept| kept.server == server)
            .unwrap_or_else(|| Self { server, ..Self::default() })
    }

    /// Serializes it; the result is a secret.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain data, so serialization cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the secret values in it, for masking.
    #[must_use]
    pub fn secret_values(text: &str) -> Vec<String> {
        let Ok(kept) = serde_json::from_str::<Self>(text) else { return Vec::new() };
        let tokens =
            kept.tokens.into_iter().flat_map(|tokens| [Some(tokens.access), tokens.refresh]);
        tokens.chain([kept.client.and_then(|client| client.secret)]).flatten().collect()
    }

    /// Returns the access token, unless it equals `used`.
    pub(super) fn token_unless(&self, used: Option<&str>) -> Option<String> {
        let access = self.tokens.as_ref().map(|tokens| &tokens.access);
        access.filter(|access| Some(access.as_str()) != used).cloned()
    }

    /// Returns whether the server requested an authorization that is still missing.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.need.is_some()
    }

    /// Returns whether there is a token.
    #[must_use]
    pub fn is_granted(&self) -> bool {
        self.tokens.is_some()
    }

    /// Returns the redirect URI of a dynamically registered client.
    #[must_use]
    pub fn redirect(&self) -> Option<&str> {
        self.client.as_ref().map(|client| client.redirect.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_of_one_server_and_tells_its_secrets() {
        let kept = StoredCredentials {
            server: "https://a.org/mcp".to_owned(),
            client: Some(RegisteredClient {
                issuer: "https://l.org".to_owned(),
                id: "id".to_owned(),
                secret: Some("its-secret".to_owned()),
                method: Some(AuthMethod::ClientSecretPost),
                redirect: "http://127.0.0.1:1/callback".to_owned(),
                until: None,
            }),
            tokens: Some(StoredTokens {
                issuer: "https://l.org".to_owned(),
                endpoint: "https://l.org/t".to_owned(),
                resource: "https://a.org/mcp".to_owned(),
                client_id: "id".to_owned(),
                method: AuthMethod::None,
                access: "access".to_owned(),
                refresh: Some("refresh".to_owned()),
                renew_at: Some(5),
                scopes: Vec::new(),
            }),
            ..StoredCredentials::default()
        };
        let text = kept.to_json();
        assert!(
            StoredCredentials::parse(Some(&text), "https://A.org:443/mcp") == kept,
            "one address, written otherwise"
        );
        for (text, server) in [
            (Some(text.as_str()), "https://b.org/mcp"),
            (Some("broken"), "https://a.org/mcp"),
            (None, "x"),
        ] {
            let read = StoredCredentials::parse(text, server);
            assert!(
                !read.is_granted() && !read.is_needed() && read.redirect().is_none(),
                "{server}"
            );
        }
        assert_eq!(StoredCredentials::secret_values(&text), ["access", "refresh", "its-secret"]);
        assert_eq!(StoredCredentials::secret_values("broken"), Vec::<String>::new());
    }
}
