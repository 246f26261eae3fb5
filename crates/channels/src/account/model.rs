//! An account: pure.

use serde::{Deserialize, Serialize};
use url::Url;

use crate::channel::ChannelKind;
use crate::error::ChannelError;

/// The official address of the Bot API.
const TELEGRAM: &str = "https://api.telegram.org";
/// Maximum people on the list of an account.
const MAX_PEOPLE: usize = 200;

/// An account at a chat service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelAccount {
    /// Its short name.
    pub id: String,
    /// The service.
    pub kind: ChannelKind,
    /// Address of the service.
    pub base_url: String,
    /// Its own name at the service, as the service says.
    #[serde(default)]
    pub identity: String,
    /// Ids of the people who may write to it.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Which of them is the owner: messages of all others are text from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The agent that answers; the configured one if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether it receives and answers.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Whether the people on the list may decide approvals of their own conversation.
    #[serde(default)]
    pub may_approve: bool,
}

fn yes() -> bool {
    true
}

impl ChannelAccount {
    /// Name of the token in the vault. A dot would give it to a tool (`TOOL.KEY`).
    #[must_use]
    pub fn secret_name(&self) -> String {
        format!("channel-{}", self.id)
    }

    /// Key of its state: another account under the same name has another read position.
    #[must_use]
    pub fn state_key(&self) -> String {
        format!("{} {}", self.id, self.identity)
    }

    /// Returns whether a person may write to it.
    #[must_use]
    pub fn allows(&self, user: &str) -> bool {
        self.allow.iter().any(|one| one == user)
    }

    /// Returns the name of a person on this channel in records, such as `telegram:123`.
    #[must_use]
    pub fn person(&self, user: &str) -> String {
        format!("{}:{user}", self.kind)
    }

    /// Returns whether its address is the official one of the service.
    #[must_use]
    pub fn is_official(&self) -> bool {
        self.kind == ChannelKind::Telegram && self.base_url == TELEGRAM
    }

    /// Puts a person on the list.
    ///
    /// # Errors
    /// [`ChannelError::BadAccount`] if that is not the id of a person.
    pub fn allow(&mut self, user: &str, is_owner: bool) -> Result<(), ChannelError> {
        let user = user.trim();
        if !self.kind.is_user_id(user) {
            let example = match self.kind {
                ChannelKind::Telegram => "the number of a person, such as 123456789",
                ChannelKind::Matrix => "the id of a person, such as @ann:example.org",
            };
            return Err(ChannelError::BadAccount(format!(
                "\"{}\" is not {example}.",
                user.escape_debug()
            )));
        }
        if !self.allows(user) {
            if self.allow.len() >= MAX_PEOPLE {
                let text = format!("A channel has at most {MAX_PEOPLE} people.");
                return Err(ChannelError::BadAccount(text));
            }
            self.allow.push(user.to_owned());
        }
        if is_owner {
            self.owner = Some(user.to_owned());
        }
        Ok(())
    }

    /// Takes a person from the list.
    pub fn disallow(&mut self, user: &str) {
        let user = user.trim();
        self.allow.retain(|one| one != user);
        if self.owner.as_deref() == Some(user) {
            self.owner = None;
        }
    }
}

/// An account to add.
#[derive(Debug, Clone)]
pub struct NewChannel {
    /// The service.
    pub kind: ChannelKind,
    /// Its short name; the name of the service if it is left out.
    pub id: Option<String>,
    /// Address of the service; required for Matrix.
    pub base_url: Option<String>,
    /// Ids of the people who may write to it.
    pub allow: Vec<String>,
    /// The id of the owner.
    pub owner: Option<String>,
    /// The agent that answers.
    pub agent: Option<String>,
    /// Whether the people on the list may decide approvals of their own conversation.
    pub may_approve: bool,
}

impl NewChannel {
    /// Checks the account.
    ///
    /// # Errors
    /// [`ChannelError::BadAccount`].
    pub fn complete(self) -> Result<ChannelAccount, ChannelError> {
        let bad = |text: &str| Err(ChannelError::BadAccount(text.to_owned()));
        let id = self.id.unwrap_or_else(|| self.kind.to_string());
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if id.is_empty() || id.len() > 40 || !id.chars().all(is_name) {
            return bad("The name of a channel has letters, digits, - and _, at most 40.");
        }
        let base_url = match (self.base_url, self.kind) {
            (Some(url), _) => url.trim().trim_end_matches('/').to_owned(),
            (None, ChannelKind::Telegram) => TELEGRAM.to_owned(),
            (None, ChannelKind::Matrix) => {
                return bad(
                    "Matrix needs the address of the home server: --base-url https://matrix.example.org",
                );
            }
        };
        let url = Url::parse(&base_url).ok().filter(|url| {
            matches!(url.scheme(), "https" | "http")
                && url.host().is_some()
                && url.username().is_empty()
                && url.password().is_none()
                && url.query().is_none()
        });
        let Some(url) = url else {
            return bad("The address of a service is like https://matrix.example.org.");
        };
        let is_local = match url.host() {
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            _ => url.host_str() == Some("localhost"),
        };
        if url.scheme() == "http" && !is_local {
            return bad("A token is sent only over https, except to this machine.");
        }
        let mut account = ChannelAccount {
            id,
            kind: self.kind,
            base_url,
            identity: String::new(),
            allow: Vec::new(),
            owner: None,
            agent: self.agent.filter(|agent| !agent.trim().is_empty()),
            enabled: true,
            may_approve: self.may_approve,
        };
        for user in &self.allow {
            account.allow(user, false)?;
        }
        if let Some(owner) = &self.owner {
            account.allow(owner, true)?;
        }
        Ok(account)
    }
}
