//! Rules of a person that allow sending drafts to one recipient without approval.

use std::fmt;
use std::str::FromStr;

use super::kind::DraftKind;

/// Allows sending drafts of one kind to exactly one recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendRule {
    /// The kind.
    pub kind: DraftKind,
    /// The recipient: a complete address, never a pattern.
    pub recipient: String,
}

/// The text is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a rule such as mail:ann@example.org; a rule names one whole address")]
pub struct SendRuleError(String);

impl SendRule {
    /// Returns whether rules allow sending a draft: each recipient has a rule of this kind.
    #[must_use]
    pub fn covers(rules: &[Self], kind: DraftKind, recipients: &[String]) -> bool {
        let has_rule = |to: &String| {
            let matches =
                |rule: &Self| rule.kind == kind && kind.is_same_recipient(&rule.recipient, to);
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
        let kind: DraftKind = kind.trim().parse().map_err(|()| bad())?;
        let recipient = recipient.trim();
        if !kind.is_recipient(recipient) {
            return Err(bad());
        }
        Ok(Self { kind, recipient: recipient.to_owned() })
    }
}

impl fmt::Display for SendRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.recipient)
    }
}
