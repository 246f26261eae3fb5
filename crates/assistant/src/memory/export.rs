//! Export and import of memories as a file.

use serde::{Deserialize, Serialize};
use toolcrib_core::{Author, Memory, MemoryCategory};

use super::error::MemoryError;
use super::memories::IMPORT_MOST;

/// Version of the file format.
pub const EXPORT_VERSION: u32 = 1;

/// The memories of one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryExport {
    /// [`EXPORT_VERSION`].
    pub version: u32,
    /// The memories.
    pub memories: Vec<ExportedMemory>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedMemory {
    /// Key.
    pub key: String,
    /// Text.
    pub content: String,
    /// Group.
    #[serde(default)]
    pub category: MemoryCategory,
    /// Confirmations.
    #[serde(default = "one")]
    pub hit_count: u64,
    /// Creation time, Unix time in milliseconds.
    #[serde(default)]
    pub created_at: Option<i64>,
    /// Time of the last change, Unix time in milliseconds.
    #[serde(default)]
    pub updated_at: Option<i64>,
    /// The source of the text, if it is untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

fn one() -> u64 {
    1
}

impl MemoryExport {
    /// Checks the export.
    ///
    /// # Errors
    /// [`MemoryError::Import`] for a newer format, too many memories, or a duplicate key.
    pub(super) fn check(&self) -> Result<(), MemoryError> {
        if self.version != EXPORT_VERSION {
            return Err(MemoryError::Import(format!(
                "the file has version {}, and this program reads version {EXPORT_VERSION}",
                self.version
            )));
        }
        if self.memories.len() > IMPORT_MOST {
            return Err(MemoryError::Import(format!(
                "the file has {} memories, and an owner has at most {IMPORT_MOST}",
                self.memories.len()
            )));
        }
        let mut keys: Vec<&str> = self.memories.iter().map(|memory| &*memory.key).collect();
        keys.sort_unstable();
        match keys.windows(2).find(|pair| pair.first() == pair.last()) {
            Some(pair) => Err(MemoryError::Import(format!(
                "the file has the key \"{}\" twice",
                pair.first().copied().unwrap_or_default()
            ))),
            None => Ok(()),
        }
    }
}

impl From<Memory> for ExportedMemory {
    fn from(memory: Memory) -> Self {
        Self {
            key: memory.key,
            content: memory.content,
            category: memory.category,
            hit_count: memory.hit_count,
            created_at: Some(memory.created_at),
            updated_at: Some(memory.updated_at),
            untrusted: memory.untrusted,
        }
    }
}

impl ExportedMemory {
    pub(super) fn is_same(&self, there: &Memory) -> bool {
        self.content == there.content
            && self.category == there.category
            && self.hit_count == there.hit_count
            && self.untrusted == there.untrusted
    }

    pub(super) fn to_memory(&self, owner: &str, author: &Author, now: i64) -> Memory {
        Memory {
            owner: owner.to_owned(),
            key: self.key.clone(),
            content: self.content.clone(),
            category: self.category,
            hit_count: self.hit_count.max(1),
            created_at: self.created_at.unwrap_or(now),
            updated_at: self.updated_at.unwrap_or(now),
            author: author.clone(),
            untrusted: self.untrusted.clone(),
            revision: 0,
        }
    }
}
