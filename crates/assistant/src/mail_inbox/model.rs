//! An inbox and a mail that arrived: pure.

use serde::{Deserialize, Serialize};

/// Mails that are kept of an inbox. They are the newest; the server has the others.
pub const RECENT: usize = 20;
/// Characters of a text that are kept: its beginning, as the heartbeat shows it.
pub const TEXT_CHARS: usize = 500;
/// Characters of a sender and of a subject.
pub(super) const LINE_CHARS: usize = 300;

/// How far an inbox was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailPosition {
    /// While it is the same, numbers name the same mails (RFC 3501, 2.3.1.1).
    pub validity: u32,
    /// Mails with smaller numbers were seen.
    pub next_uid: u32,
}

/// A mail that arrived. Its texts come from outside.
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
    /// When it was seen: Unix time in milliseconds.
    pub seen_at: i64,
}

impl ArrivedMail {
    /// The same with texts of a bounded length.
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
    /// How far it was read; `None` = not yet.
    #[serde(default)]
    pub position: Option<MailPosition>,
    /// Unread mails.
    #[serde(default)]
    pub unread: u64,
    /// When it was read last: Unix time in milliseconds; 0 = not yet.
    #[serde(default)]
    pub read_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<Problem>,
    /// What arrived last, the newest first.
    #[serde(default)]
    pub recent: Vec<ArrivedMail>,
}

impl MailInbox {
    /// Why it cannot be read now.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_ref().map(|problem| problem.reason.as_str())
    }

    /// Whether something of it is new since a time: mail, or that it cannot be read.
    #[must_use]
    pub fn has_news_since(&self, time: i64) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.since > time)
            || self.recent.iter().any(|mail| mail.seen_at > time)
    }
}
