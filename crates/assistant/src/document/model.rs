//! A document without its text.

use serde::{Deserialize, Serialize};

/// Largest file, in bytes; a scanned book is about this large.
pub const MAX_BYTES: usize = 64 << 20;

/// The state of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentStatus {
    /// Its first pages can be found; the others are being read.
    Indexing,
    /// The complete text can be found.
    Ready,
    /// Reading ended early; the text read before can be found.
    Failed,
}

impl DocumentStatus {
    /// Returns the name in tools and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Indexing => "indexing",
            Self::Ready => "ready",
            Self::Failed => "failed",
        }
    }
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its id: `doc_` and the beginning of the SHA-256 of its content.
    pub id: String,
    /// Name of the file.
    pub name: String,
    /// Name of the format, such as "PDF".
    pub format: String,
    /// Name of a part: "page", "sheet"; empty if the format has no parts.
    pub unit: String,
    /// Its state.
    pub status: DocumentStatus,
    /// Number of its parts; 0 if the format has no parts.
    pub parts: u32,
    /// The next part to read, while the document is being indexed.
    pub next_part: u32,
    /// Number of chunks that can be found.
    pub chunks: u32,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Why reading ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Unix time in milliseconds.
    pub added_at: i64,
    /// When it was deleted, Unix time in milliseconds. It can be restored for 30 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<i64>,
    /// The source of untrusted text that the run had read before it added the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

impl Document {
    /// Returns whether it is listed and searched.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.deleted_at.is_none()
    }
}
