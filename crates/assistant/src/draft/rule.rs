//! Rules of a person that let drafts to one recipient leave without being asked.

use std::fmt;
use std::str::FromStr;

use super::model::DraftKind;

/// Lets drafts of one kind leave to exactly one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendRule {
    /// The kind.
    pub kind: DraftKind,
    /// The recipient: a whole address, never a pattern.
    pub recipient: String,
}

/// A text that is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a rule such as mail:ann@example.org; a rule names one whole address")]
pub struct SendRuleError(String);

impl SendRule {
    /// Whether rules let a draft leave: each recipient has a rule of this kind.
    #[must_use]
    pub fn covers(rules: &[Self], kind: DraftKind, recipients: &[String]) -> bool {
        let has_rule = |to: &String| {
            let matches =
                |rule: &Self| rule.kind == kind && rule.recipient.eq_ignore_ascii_case(to.trim());
            rules.iter().any(matches)
        };
        !recipients.is_empty() && recipients.iter().all(has_rule)
    }
}

impl FromStr for SendRule {
    type Err = SendRuleError;

    fn from_str(text: &str) -> Result<Self, SendRuleError> {
        let bad = || SendRuleError(text.to_owned());
        let (kind, recipient) = text.split_once(':').ok_or_else(bad)?;
        let kind = DraftKind::ALL.into_iter().find(|known| known.as_str() == kind.trim());
        let recipient = recipient.trim();
        let is_unusable = |c: char| c.is_whitespace() || c.is_control() || "*?,;<>".contains(c);
        if recipient.chars().any(is_unusable) || !is_address(recipient) {
            return Err(bad());
        }
        Ok(Self { kind: kind.ok_or_else(bad)?, recipient: recipient.to_owned() })
    }
}

fn is_address(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}

impl fmt::Display for SendRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.recipient)
    }
}
