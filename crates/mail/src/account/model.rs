//! An account: pure.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::servers::servers_of;
use crate::error::MailError;
use crate::oauth::OauthSettings;

/// How a connection is secured. There is no third way: no password leaves unencrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// TLS from the first byte (RFC 8314).
    Tls,
    /// TLS after `STARTTLS`; a server that does not offer it is not used.
    Starttls,
}

impl Security {
    /// What a port stands for.
    pub(super) fn of_port(port: u16) -> Self {
        if matches!(port, 25 | 143 | 587) { Self::Starttls } else { Self::Tls }
    }
}

/// A server of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How the connection is secured; by the port if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<Security>,
}

impl Server {
    /// How the connection is secured.
    #[must_use]
    pub fn security(&self) -> Security {
        self.security.unwrap_or_else(|| Security::of_port(self.port))
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// An account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailAccount {
    /// Its short name.
    pub id: String,
    /// Its address: the sender of what it sends.
    pub address: String,
    /// The sender's name; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// The name that the servers know; the address if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Where mail is read.
    pub imap: Server,
    /// Where mail is handed over.
    pub smtp: Server,
    /// Whether the servers may be in a private network. A person says so; a model cannot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_network: bool,
    /// The authorization server, for an account without a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OauthSettings>,
}

impl MailAccount {
    /// The name that the servers know.
    #[must_use]
    pub fn user(&self) -> &str {
        self.user.as_deref().unwrap_or(&self.address)
    }

    /// The part of the address behind the `@`.
    #[must_use]
    pub fn domain(&self) -> &str {
        self.address.rsplit_once('@').map_or("localhost", |(_, domain)| domain)
    }

    /// Name of the password in the vault. A dot would give it to a tool (`TOOL.KEY`).
    #[must_use]
    pub fn secret_name(&self) -> String {
        format!("mail-{}", self.id.replace('.', "-"))
    }
}

/// An account to make.
#[derive(Debug, Clone, Default)]
pub struct NewAccount {
    /// Its address.
    pub address: String,
    /// Its short name; by the address if it is left out.
    pub id: Option<String>,
    /// The sender's name.
    pub display_name: String,
    /// The name that the servers know, if it is not the address.
    pub user: Option<String>,
    /// The IMAP server; by the address if it is left out.
    pub imap_host: Option<String>,
    /// Its port; 993 if it is left out.
    pub imap_port: Option<u16>,
    /// How it is secured; by the port if it is left out.
    pub imap_security: Option<Security>,
    /// The submission server; by the address if it is left out.
    pub smtp_host: Option<String>,
    /// Its port; 587 if it is left out.
    pub smtp_port: Option<u16>,
    /// How it is secured; by the port if it is left out.
    pub smtp_security: Option<Security>,
    /// Whether the servers may be in a private network.
    pub own_network: bool,
}

impl NewAccount {
    /// The account, with the servers of its domain where none are named.
    ///
    /// # Errors
    /// [`MailError::BadAccount`].
    pub fn complete(self) -> Result<MailAccount, MailError> {
        let address = self.address.trim().to_owned();
        let (name, domain) = address.rsplit_once('@').unwrap_or_default();
        let is_bad = |c: char| c.is_whitespace() || c.is_control() || "<>,;\"".contains(c);
        if name.is_empty() || domain.is_empty() || address.chars().any(is_bad) {
            return Err(MailError::BadAccount(format!(
                "\"{}\" is not a mail address such as ann@example.org.",
                address.escape_debug()
            )));
        }
        if self.display_name.chars().any(char::is_control) {
            return Err(MailError::BadAccount("A name is one line.".to_owned()));
        }
        let known = servers_of(domain);
        let host = |given: Option<String>, known: String| {
            given.map(|host| host.trim().to_owned()).filter(|h| !h.is_empty()).unwrap_or(known)
        };
        let imap = Server {
            host: host(self.imap_host, known.imap.to_string()),
            port: self.imap_port.unwrap_or(993),
            security: self.imap_security,
        };
        let smtp = Server {
            host: host(self.smtp_host, known.smtp.to_string()),
            port: self.smtp_port.unwrap_or(587),
            security: self.smtp_security,
        };
        let id = self.id.unwrap_or_else(|| address.replace(['@', '+'], "-").to_lowercase());
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let id: String = id.chars().map(|c| if is_name(c) { c } else { '-' }).take(60).collect();
        Ok(MailAccount {
            id,
            display_name: self.display_name.trim().to_owned(),
            user: self.user.filter(|user| *user != address),
            imap,
            smtp,
            own_network: self.own_network,
            oauth: None,
            address,
        })
    }
}
