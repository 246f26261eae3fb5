//! A document in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::document::{Document, DocumentError};

use crate::error::{OpError, Resource};

/// A document, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Document")]
pub struct DocumentReply {
    /// Its id.
    pub document: String,
    /// Name of the file.
    pub name: String,
    /// Its format, such as `PDF`.
    pub format: String,
    /// `indexing`, `ready` or `failed`.
    pub status: String,
    /// Name of its parts, such as `page`; absent = it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Number of its parts.
    pub parts: u32,
    /// Number of parts that were read so far.
    pub parts_read: u32,
    /// Number of searchable pieces of text.
    pub chunks: u32,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Why some of its text cannot be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Milliseconds since 1970.
    pub added_at: i64,
    /// When it was deleted, milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<i64>,
    /// The agent or program that added it, if that had read untrusted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

impl From<Document> for DocumentReply {
    fn from(document: Document) -> Self {
        let is_read = document.next_part == 0;
        let parts_read =
            if is_read { document.parts } else { document.next_part.saturating_sub(1) };
        Self {
            document: document.id,
            name: document.name,
            format: document.format,
            status: document.status.as_str().to_owned(),
            unit: Some(document.unit).filter(|unit| !unit.is_empty()),
            parts: document.parts,
            parts_read,
            chunks: document.chunks,
            bytes: document.bytes,
            problem: document.problem,
            added_at: document.added_at,
            deleted_at: document.deleted_at,
            untrusted: document.untrusted,
        }
    }
}

impl From<DocumentError> for OpError {
    fn from(error: DocumentError) -> Self {
        match error {
            DocumentError::Row(error) => error.into(),
            DocumentError::Unknown { name, near } => {
                Self::NotFound { what: Resource::Document, name, near }
            }
            DocumentError::Full | DocumentError::NotDeleted(_) => Self::Conflict(error.to_string()),
            DocumentError::Index(_) => Self::Unavailable(error.to_string()),
            DocumentError::Ambiguous { .. }
            | DocumentError::BadName
            | DocumentError::TooLarge(_)
            | DocumentError::NoText(_)
            | DocumentError::Unreadable(_)
            | DocumentError::NoQuery
            | DocumentError::WrongCode
            | DocumentError::NoPage { .. } => Self::Invalid(error.to_string()),
        }
    }
}
