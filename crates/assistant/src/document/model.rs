//! A document without its text.

use serde::{Deserialize, Serialize};

/// Largest file, in bytes; a scanned book is about this large.
pub const MAX_BYTES: usize = 64 << 20;

/// How far a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentStatus {
    /// Its first pages can be found, the others are being read.
    Indexing,
    /// All of it can be found.
    Ready,
    /// Reading ended early; what was read before can be found.
    Failed,
}

impl DocumentStatus {
    /// Name in tools and on the wire.
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
    /// What it is, such as "PDF".
    pub format: String,
    /// What its parts are called: "page", "sheet"; empty = it has none.
    pub unit: String,
    /// How far it is.
    pub status: DocumentStatus,
    /// Number of its parts; 0 = it has none.
    pub parts: u32,
    /// The part that is read next while it is being read.
    pub next_part: u32,
    /// Pieces of text that can be found.
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
    /// What put it in, if that had read text from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

impl Document {
    /// Whether it is found and listed.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.deleted_at.is_none()
    }
}
