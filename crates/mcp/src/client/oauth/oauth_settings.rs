//! OAuth settings of a server.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How tokens are obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantKind {
    /// A person authorizes in a browser.
    #[default]
    AuthorizationCode,
    /// Toolcrib authenticates as a client itself, with a secret or a key (MCP extension
    /// `oauth-client-credentials`).
    ClientCredentials,
    /// A signed assertion of a workload is exchanged for a token (RFC 7523).
    JwtBearer,
    /// Single sign-on of an organization: its identity token is exchanged twice (MCP extension
    /// `enterprise-managed-authorization`).
    Enterprise,
}

/// OAuth settings of one server. If empty, everything is discovered, and a person authorizes in a
/// browser.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oauth {
    /// How tokens are obtained.
    pub grant: GrantKind,
    /// Id of a pre-registered client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Its secret; may be a reference to the vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// Its private key (PKCS#8 as PEM: P-256, RSA or Ed25519), for `private_key_jwt`; may be a
    /// reference to the vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// URL of a client metadata document, used as the client id where the authorization server
    /// supports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    /// The only authorization server that the client may be used with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Scopes to request instead of those that the server names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Local port of the redirect URI, for clients that were registered with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_port: Option<u16>,
    /// Assertion of a workload, or identity token of the single sign-on; may be a reference to the
    /// vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion: Option<String>,
    /// Token endpoint of the single sign-on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idp_token_endpoint: Option<String>,
    /// Our client id at the single sign-on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idp_client_id: Option<String>,
}

/// Hides values that may be secret.
impl fmt::Debug for Oauth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Oauth")
            .field("grant", &self.grant)
            .field("client_id", &self.client_id)
            .field("issuer", &self.issuer)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

impl Oauth {
    /// Returns whether tokens are obtained without a person.
    #[must_use]
    pub fn is_unattended(&self) -> bool {
        self.grant != GrantKind::AuthorizationCode
    }

    /// Returns the values that are secrets or references to secrets.
    pub(crate) fn secrets_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.client_secret, &mut self.private_key, &mut self.assertion].into_iter().flatten()
    }

    /// Returns the values that are secrets or references to secrets.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &String> {
        [&self.client_secret, &self.private_key, &self.assertion].into_iter().flatten()
    }
}
