//! What is configured of the authorization for a server.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How tokens are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantKind {
    /// A person agrees in a browser.
    #[default]
    AuthorizationCode,
    /// Toolcrib itself is the client, with a secret or a key (MCP extension `oauth-client-credentials`).
    ClientCredentials,
    /// A signed statement of a workload is exchanged for a token (RFC 7523).
    JwtBearer,
    /// The sign-on of a company: its identity token is exchanged twice (MCP extension `enterprise-managed-authorization`).
    Enterprise,
}

/// The authorization for one server. Empty, everything is found out from the server, and a person agrees.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oauth {
    /// How tokens are asked for.
    pub grant: GrantKind,
    /// The client that was registered for us by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Its secret; may name one of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// Its private key (PKCS#8 as PEM: P-256, RSA or Ed25519), for `private_key_jwt`; may name a secret of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// The address of a client metadata document, which is the client's id where authorization servers take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    /// The one authorization server that the client was registered with; others are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Scopes to ask for instead of those that the server names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The port of this machine that redirects come to, for clients that were registered with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_port: Option<u16>,
    /// What a workload is given, or the identity token of a company's sign-on; may name a secret of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion: Option<String>,
    /// The token endpoint of a company's sign-on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idp_token_endpoint: Option<String>,
    /// Our client at a company's sign-on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idp_client_id: Option<String>,
}

/// Some of it may be secret.
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
    /// Whether tokens are got without a person.
    #[must_use]
    pub fn is_unattended(&self) -> bool {
        self.grant != GrantKind::AuthorizationCode
    }

    /// What may be, or name, a secret.
    pub(crate) fn secrets_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.client_secret, &mut self.private_key, &mut self.assertion].into_iter().flatten()
    }

    /// What may be, or name, a secret.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &String> {
        [&self.client_secret, &self.private_key, &self.assertion].into_iter().flatten()
    }
}
