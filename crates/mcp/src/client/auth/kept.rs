//! What is kept of the authorization for a server, as one secret text.

use serde::{Deserialize, Serialize};

/// How a client shows at the token endpoint who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Method {
    None,
    ClientSecretBasic,
    ClientSecretPost,
    PrivateKeyJwt,
}

/// A client that an authorization server made for us. Known to that one alone.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Registered {
    pub(super) issuer: String,
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<Method>,
    pub(super) redirect: String,
    /// Seconds since 1970 when its secret ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<u64>,
}

/// A token and what belongs to it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) issuer: String,
    pub(super) endpoint: String,
    pub(super) resource: String,
    pub(super) client_id: String,
    /// How the client showed who it is.
    pub(super) method: Method,
    pub(super) access: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refresh: Option<String>,
    /// Seconds since 1970 when it should be renewed, and when it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) renew_at: Option<u64>,
    /// What it was given for.
    pub(super) scopes: Vec<String>,
}

/// What a server wants.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Need {
    /// Scopes that it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scopes: Option<Vec<String>>,
    /// Whether there was a token, good for less than this.
    pub(super) insufficient: bool,
}

/// What is kept of the authorization for one server. It holds tokens: its text is a secret, and it has no `Debug` form.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// The server that all of it belongs to.
    pub(super) server: String,
    /// Where it says that it describes itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<Registered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<Tokens>,
    /// The authorization server that a client of the configuration was shown to first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) issuer: Option<String>,
    /// What the server wants and has not got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) need: Option<Need>,
    /// Every scope that was asked for.
    pub(super) asked: Vec<String>,
    /// How often in a row scopes were asked for that had been asked for before.
    pub(super) in_vain: u32,
}

impl Kept {
    /// What a text of [`text`](Self::text) says of this server; nothing when it is of another, or none.
    #[must_use]
    pub fn read(text: Option<&str>, server: &str) -> Self {
        let server = url::Url::parse(server).map_or_else(|_| server.to_owned(), String::from);
        let kept = text.and_then(|text| serde_json::from_str::<Self>(text).ok());
        kept.filter(|kept| kept.server == server)
            .unwrap_or_else(|| Self { server, ..Self::default() })
    }

    /// Its text, a secret.
    #[must_use]
    pub fn text(&self) -> String {
        // What is plain data always has a text.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The values in it that nobody may see.
    #[must_use]
    pub fn secrets_of(text: &str) -> Vec<String> {
        let Ok(kept) = serde_json::from_str::<Self>(text) else { return Vec::new() };
        let tokens =
            kept.tokens.into_iter().flat_map(|tokens| [Some(tokens.access), tokens.refresh]);
        tokens.chain([kept.client.and_then(|client| client.secret)]).flatten().collect()
    }

    /// The token, if there is one that is not this one.
    pub(super) fn other_than(&self, used: Option<&str>) -> Option<String> {
        let access = self.tokens.as_ref().map(|tokens| &tokens.access);
        access.filter(|access| Some(access.as_str()) != used).cloned()
    }

    /// Whether the server was seen to want an authorization that it has not got.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.need.is_some()
    }

    /// Whether there is a token.
    #[must_use]
    pub fn is_granted(&self) -> bool {
        self.tokens.is_some()
    }

    /// Where redirects of the registered client go, if it is registered by itself.
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
        let kept = Kept {
            server: "https://a.org/mcp".to_owned(),
            client: Some(Registered {
                issuer: "https://l.org".to_owned(),
                id: "id".to_owned(),
                secret: Some("its-secret".to_owned()),
                method: Some(Method::ClientSecretPost),
                redirect: "http://127.0.0.1:1/callback".to_owned(),
                until: None,
            }),
            tokens: Some(Tokens {
                issuer: "https://l.org".to_owned(),
                endpoint: "https://l.org/t".to_owned(),
                resource: "https://a.org/mcp".to_owned(),
                client_id: "id".to_owned(),
                method: Method::None,
                access: "access".to_owned(),
                refresh: Some("refresh".to_owned()),
                renew_at: Some(5),
                scopes: Vec::new(),
            }),
            ..Kept::default()
        };
        let text = kept.text();
        assert!(
            Kept::read(Some(&text), "https://A.org:443/mcp") == kept,
            "one address, written otherwise"
        );
        for (text, server) in [
            (Some(text.as_str()), "https://b.org/mcp"),
            (Some("broken"), "https://a.org/mcp"),
            (None, "x"),
        ] {
            let read = Kept::read(text, server);
            assert!(
                !read.is_granted() && !read.is_needed() && read.redirect().is_none(),
                "{server}"
            );
        }
        assert_eq!(Kept::secrets_of(&text), ["access", "refresh", "its-secret"]);
        assert_eq!(Kept::secrets_of("broken"), Vec::<String>::new());
    }
}
