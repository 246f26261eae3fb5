//! The kinds of drafts, and the form of their recipients.
//!
//! A new kind needs a variant here and a [`super::Carrier`]; states, history, rules and surfaces
//! are the same for all kinds.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::Url;

use super::error::DraftError;
use super::model::Draft;

/// Maximum characters of a webhook's address.
const MAX_URL: usize = 2_000;

/// Maximum bytes of a person's id at a chat service.
const MAX_USER: usize = 255;

/// The kind of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DraftKind {
    /// An e-mail.
    Mail,
    /// An HTTP request with the text as its body, to one address.
    Webhook,
    /// A message at a chat service, to one person.
    Chat,
}

impl DraftKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Mail, Self::Webhook, Self::Chat];

    /// Returns the name in commands, rules and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Webhook => "webhook",
            Self::Chat => "chat",
        }
    }

    /// Returns whether a rule can name this recipient: one complete address, never a pattern.
    pub(super) fn is_recipient(self, text: &str) -> bool {
        let is_unusable = |c: char| c.is_whitespace() || c.is_control() || "*<>".contains(c);
        if text.chars().any(is_unusable) {
            return false;
        }
        match self {
            Self::Mail => {
                let parts = text.rsplit_once('@');
                !text.contains(['?', ',', ';'])
                    && parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
            }
            Self::Webhook => is_web_address(text),
            Self::Chat => chat_recipient(text).is_some(),
        }
    }

    /// Returns whether two recipients are the same. The path of an address is case-sensitive.
    pub(super) fn is_same_recipient(self, one: &str, other: &str) -> bool {
        match self {
            Self::Mail => one.trim().eq_ignore_ascii_case(other.trim()),
            Self::Webhook => match (Url::parse(one.trim()), Url::parse(other.trim())) {
                (Ok(one), Ok(other)) => one == other,
                _ => false,
            },
            Self::Chat => one.trim() == other.trim(),
        }
    }

    /// Checks the properties that only drafts of this kind have.
    pub(super) fn check(self, draft: &Draft) -> Result<(), DraftError> {
        match self {
            Self::Mail => Ok(()),
            Self::Webhook => match &draft.to[..] {
                [address] if is_web_address(address.trim()) && draft.attachments.is_empty() => {
                    Ok(())
                }
                _ => Err(DraftError::WebAddress),
            },
            Self::Chat => match &draft.to[..] {
                [to] if chat_recipient(to).is_some() && draft.attachments.is_empty() => Ok(()),
                _ => Err(DraftError::ChatRecipient),
            },
        }
    }
}

/// Returns whether the text is an `http` or `https` address without credentials. The address policy
/// decides when the draft is sent whether the address is allowed.
fn is_web_address(text: &str) -> bool {
    let parsed = Url::parse(text).ok().filter(|_| text.len() <= MAX_URL);
    parsed.is_some_and(|url| {
        matches!(url.scheme(), "https" | "http")
            && url.host().is_some()
            && url.username().is_empty()
            && url.password().is_none()
    })
}

/// Returns the service and the id of a recipient such as `telegram:123456789`.
#[must_use]
pub fn chat_recipient(text: &str) -> Option<(&str, &str)> {
    let (service, user) = text.trim().split_once(':')?;
    let is_unusable = |c: char| c.is_whitespace() || c.is_control() || "*<>,;".contains(c);
    let is_word = !service.is_empty() && service.bytes().all(|c| c.is_ascii_lowercase());
    let is_user = !user.is_empty() && user.len() <= MAX_USER && !user.chars().any(is_unusable);
    (is_word && is_user).then_some((service, user))
}

impl FromStr for DraftKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}
