//! An inbox and an arrived mail: pure.

use serde::{Deserialize, Serialize};

/// Number of stored mails of an inbox, the newest ones; the server has the others.
pub const RECENT: usize = 20;
/// Maximum stored characters of a text: its beginning, as the heartbeat shows it.
pub const TEXT_CHARS: usize = 500;
/// Maximum characters of a sender and of a subject.
pub(super) const LINE_CHARS: usize = 300;

/// The read position of an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailPosition {
    /// While this value is unchanged, a number identifies the same mail (RFC 3501, 2.3.1.1).
    pub validity: u32,
    /// Mails with smaller numbers were already read.
    pub next_uid: u32,
}

/// An arrived mail. Its texts are untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivedMail {
    /// Its number in the inbox.
    pub uid: u32,
    /// Sender.
    pub from: String,
    /// Subject.
    pub subject: String,
    /// The beginning of its text.
    pub text: String,
    /// When it was read: Unix time in milliseconds.
    pub seen_at: i64,
}

impl ArrivedMail {
    /// Shortens its texts to their limits.
    pub(super) fn shortened(self) -> Self {
        let line = |text: &str, most: usize| -> String { text.chars().take(most).collect() };
        Self {
            from: line(&self.from, LINE_CHARS),
            subject: line(&self.subject, LINE_CHARS),
            text: line(&self.text, TEXT_CHARS),
            ..self
        }
    }
}

/// Why an inbox cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Problem {
    pub(super) reason: String,
    /// Unix time in milliseconds.
    pub(super) since: i64,
}

/// An inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailInbox {
    /// Address of its account.
    pub address: String,
    /// The read position; `None` before the first read.
    #[serde(default)]
    pub position: Option<MailPosition>,
    /// Unread mails.
    #[serde(default)]
    pub unread: u64,
    /// When it was read last: Unix time in milliseconds; 0 if it was never read.
    #[serde(default)]
    pub read_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<Problem>,
    /// The mails that arrived last, the newest first.
    #[serde(default)]
    pub recent: Vec<ArrivedMail>,
}

impl MailInbox {
    /// Returns why it cannot be read now.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_ref().map(|problem| problem.reason.as_str())
    }

    /// Returns whether it has new mail or a new problem since a time.
    #[must_use]
    pub fn has_news_since(&self, time: i64) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.since > time)
            || self.recent.iter().any(|mail| mail.seen_at > time)
    }
}
