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
/// Maximum characters of an SMS: about ten parts.
pub(super) const MAX_SMS_CHARS: usize = 1_600;

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
    /// An SMS, to one number.
    Sms,
}

impl DraftKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Mail, Self::Webhook, Self::Chat, Self::Sms];

    /// Returns the name in commands, rules and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Webhook => "webhook",
            Self::Chat => "chat",
            Self::Sms => "sms",
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
            Self::Sms => sms_number(text).as_deref() == Some(text),
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
            Self::Chat | Self::Sms => one.trim() == other.trim(),
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
            Self::Sms => match &draft.to[..] {
                [to] if sms_number(to).as_ref() == Some(to) && draft.attachments.is_empty() => {
                    check_sms_text(&draft.body)
                }
                _ => Err(DraftError::SmsRecipient),
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

/// Returns the number of a text such as `+49 (170) 123-4567` without spaces and signs; `None` if it
/// is not a number: `+` and 7 to 15 digits (E.164), or 3 to 15 digits of a number in this country.
#[must_use]
pub fn sms_number(text: &str) -> Option<String> {
    let text = text.trim();
    let is_filler = |c: char| matches!(c, ' ' | '-' | '.' | '/' | '(' | ')');
    let number: String = text.chars().filter(|c| !is_filler(*c)).collect();
    let digits = number.strip_prefix('+').unwrap_or(&number);
    let fewest = if number.starts_with('+') { 7 } else { 3 };
    let is_number = (fewest..=15).contains(&digits.len())
        && digits.bytes().all(|c| c.is_ascii_digit())
        && !number.starts_with("+0");
    is_number.then_some(number)
}

fn check_sms_text(text: &str) -> Result<(), DraftError> {
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.chars().count() > MAX_SMS_CHARS || text.chars().any(is_control) {
        return Err(DraftError::SmsText);
    }
    Ok(())
}

impl FromStr for DraftKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(sms_number(text).as_deref(), expected, "{text:?}");
    }

    #[test]
    fn a_number_of_an_sms_has_digits_alone() {
        check("+49 (170) 123-4567", Some("+491701234567"));
        check("0170/123.4567", Some("01701234567"));
        check("22456", Some("22456"));
        for bad in [
            "",
            "+",
            "12",
            "+123456",
            "+0123456789",
            "+49170123456789012",
            "DHL",
            "0170x",
            "+49+170123456",
            "+4917012345\n67",
            "٠١٢٣٤٥٦٧",
            "*100#",
            "ann@example.org",
        ] {
            check(bad, None);
        }
        assert!(DraftKind::Sms.is_recipient("+491701234567"));
        assert!(!DraftKind::Sms.is_recipient("+49 170 1234567"), "a rule has the plain number");
    }
}
