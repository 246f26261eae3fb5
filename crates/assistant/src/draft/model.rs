//! A draft and its states: pure.

use serde::{Deserialize, Serialize};
use toolcrib_core::Author;

use super::error::DraftError;
use super::kind::DraftKind;
use super::limits::{MAX_BODY_CHARS, MAX_RECIPIENTS, MAX_SUBJECT_CHARS};

/// Maximum files of one draft.
const MAX_ATTACHMENTS: usize = 20;

/// The state of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DraftStatus {
    /// It waits for a person.
    Draft,
    /// A process delivers it.
    Sending,
    /// The server accepted it.
    Sent,
    /// It was refused before anything was sent.
    Failed,
    /// It may have been sent: the process or the connection ended before the response.
    Unknown,
    /// A person discarded it.
    Discarded,
}

impl DraftStatus {
    /// Returns the name in commands and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Discarded => "discarded",
        }
    }

    /// Returns whether a person has to act on it.
    #[must_use]
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Sent | Self::Discarded)
    }

    /// Returns whether its text may be changed.
    #[must_use]
    pub fn is_editable(self) -> bool {
        matches!(self, Self::Draft | Self::Failed)
    }
}

/// A file of a draft, stored as it was when the draft was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftAttachment {
    /// Its name for the recipient.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// The artifact with its content.
    pub artifact: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// The process that sends a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attempt {
    /// Its claim in the store of calls, which determines whether the process is alive.
    pub(super) claim: u64,
    /// The person or the rule that sends.
    pub(super) by: String,
    /// Unix time in milliseconds.
    pub(super) at: i64,
}

/// A draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: DraftKind,
    /// Its status.
    pub status: DraftStatus,
    /// The account that sends it, such as an address.
    pub account: String,
    /// Recipients.
    pub to: Vec<String>,
    /// Subject; empty for kinds without one.
    #[serde(default)]
    pub subject: String,
    /// Text.
    pub body: String,
    /// Files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<DraftAttachment>,
    /// Message-ID of the mail that it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<String>,
    /// Message-IDs of the thread, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// Its own Message-ID, the same in every attempt, so that the mail can be searched.
    pub message_id: String,
    /// The source of its text, if the text is untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The author of the last change of its text.
    pub author: Author,
    /// The last attempt to send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) attempt: Option<Attempt>,
    /// Why it failed, how to find out whether it was sent, or which part failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Unix time in milliseconds.
    pub created_at: i64,
    /// When its status changed last: Unix time in milliseconds.
    pub changed_at: i64,
    /// Number of its last change: a person approves the version that they read.
    #[serde(skip)]
    pub version: i64,
}

impl Draft {
    /// Returns whether a model's call was the last to write its text.
    #[must_use]
    pub fn is_by_a_model(&self) -> bool {
        self.author.run.is_some() || self.author.call.is_some()
    }

    /// Returns the person or the rule that sent it, or tried to.
    #[must_use]
    pub fn sent_by(&self) -> Option<&str> {
        self.attempt.as_ref().map(|attempt| attempt.by.as_str())
    }
}

/// A draft to create.
#[derive(Debug, Clone)]
pub struct NewDraft {
    /// Its kind.
    pub kind: DraftKind,
    /// The account that sends it.
    pub account: String,
    /// Recipients.
    pub to: Vec<String>,
    /// Subject.
    pub subject: String,
    /// Text.
    pub body: String,
    /// Files.
    pub attachments: Vec<DraftAttachment>,
    /// Message-ID of the mail that it replies to.
    pub in_reply_to: Option<String>,
    /// Message-IDs of the thread.
    pub references: Vec<String>,
    /// The part of a Message-ID after the `@`.
    pub message_domain: String,
}

/// The changes of a draft; `None` keeps a value.
#[derive(Debug, Clone, Default)]
pub struct DraftChange {
    /// The account that sends it.
    pub account: Option<String>,
    /// Recipients.
    pub to: Option<Vec<String>>,
    /// Subject.
    pub subject: Option<String>,
    /// Text.
    pub body: Option<String>,
    /// Files.
    pub attachments: Option<Vec<DraftAttachment>>,
}

impl DraftChange {
    /// Returns the draft with this change.
    pub(super) fn applied_to(&self, draft: Draft) -> Draft {
        Draft {
            account: self.account.clone().unwrap_or(draft.account),
            to: self.to.clone().unwrap_or(draft.to),
            subject: self.subject.clone().unwrap_or(draft.subject),
            body: self.body.clone().unwrap_or(draft.body),
            attachments: self.attachments.clone().unwrap_or(draft.attachments),
            ..draft
        }
    }
}

/// Checks the properties that all kinds of drafts share.
pub(super) fn check(draft: &Draft) -> Result<(), DraftError> {
    if draft.to.is_empty() || draft.to.len() > MAX_RECIPIENTS {
        return Err(DraftError::Recipients);
    }
    let has_controls = |text: &str| text.chars().any(char::is_control);
    // A line break in a header would start another header (header injection).
    if let Some(to) = draft.to.iter().find(|to| to.trim().is_empty() || has_controls(to)) {
        return Err(DraftError::Recipient(to.escape_debug().to_string()));
    }
    if draft.subject.chars().count() > MAX_SUBJECT_CHARS || has_controls(&draft.subject) {
        return Err(DraftError::Subject);
    }
    let ids = draft.references.iter().chain(&draft.in_reply_to).chain([&draft.message_id]);
    if ids.into_iter().any(|id| has_controls(id)) {
        return Err(DraftError::MessageId);
    }
    draft.kind.check(draft)?;
    let body = draft.body.chars().count();
    if draft.body.trim().is_empty() || body > MAX_BODY_CHARS {
        return Err(DraftError::Body);
    }
    if draft.attachments.len() > MAX_ATTACHMENTS {
        return Err(DraftError::Attachments(MAX_ATTACHMENTS));
    }
    Ok(())
}
