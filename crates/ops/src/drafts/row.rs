//! A draft in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::draft::{Draft, DraftDifference, DraftError, unusual_letters};

use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// A draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Draft")]
pub struct DraftReply {
    /// Its id.
    pub draft: String,
    /// Its kind: `mail`, `webhook` or `chat`.
    pub kind: String,
    /// `draft`, `sending`, `sent`, `failed`, `unknown` or `discarded`.
    pub status: String,
    /// Its version: a request to send names the version that was read.
    pub version: i64,
    /// The account that sends it.
    pub account: String,
    /// Recipients; like the next three fields, only for callers that may see payloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<String>,
    /// Subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<DraftFile>,
    /// Letters in recipients that look like other letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unusual_letters: Option<String>,
    /// Its Message-ID, by which it is found in the Sent folder.
    pub message_id: String,
    /// Source of its text, if that is untrusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The person or agent that last wrote its text.
    pub by: String,
    /// The person or the rule that sent it, or tried to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_by: Option<String>,
    /// The reason for a failure, how to check an unknown state, or a problem that did not prevent
    /// the delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The changes since the version that the caller named; absent if none was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Vec<DraftDifferenceReply>>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// When it was last changed, in milliseconds since 1970.
    pub changed_at: i64,
}

/// A file of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DraftFile {
    /// Its name for the recipient.
    pub name: String,
    /// The artifact with its content.
    pub artifact: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// A difference in one part of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DraftDifference")]
pub struct DraftDifferenceReply {
    /// `account`, `to`, `subject`, `files` or `text`.
    pub part: String,
    /// Lines that begin with `-` (before), `+` (after) or a space (unchanged).
    pub diff: String,
}

impl From<DraftDifference> for DraftDifferenceReply {
    fn from(one: DraftDifference) -> Self {
        Self { part: one.part.to_owned(), diff: one.diff }
    }
}

impl DraftReply {
    pub(super) fn new(ctx: &StoreContext<'_>, draft: Draft) -> Self {
        let shows = ctx.shows_payloads;
        let sent_by = draft.sent_by().map(str::to_owned);
        let files = draft.attachments.into_iter().filter(|_| shows);
        Self {
            draft: draft.id,
            kind: draft.kind.as_str().to_owned(),
            status: draft.status.as_str().to_owned(),
            version: draft.version,
            account: draft.account,
            unusual_letters: unusual_letters(&draft.to.concat()).filter(|_| shows),
            to: if shows { draft.to } else { Vec::new() },
            subject: shows.then_some(draft.subject),
            body: shows.then_some(draft.body),
            attachments: files
                .map(|file| DraftFile {
                    name: file.name,
                    artifact: file.artifact,
                    bytes: file.bytes,
                })
                .collect(),
            message_id: draft.message_id,
            untrusted: draft.untrusted,
            by: draft.author.by,
            sent_by,
            note: draft.note.filter(|_| shows),
            changed: None,
            created_at: draft.created_at,
            changed_at: draft.changed_at,
        }
    }
}

impl From<DraftError> for OpError {
    fn from(error: DraftError) -> Self {
        match error {
            DraftError::Row(error) => error.into(),
            DraftError::Unknown(id) => Self::not_found(Resource::Draft, id),
            DraftError::Stale(_) => Self::Stale(error.to_string()),
            DraftError::Full | DraftError::State(_) => Self::Conflict(error.to_string()),
            error => Self::Invalid(error.to_string()),
        }
    }
}
