//! Memories: facts about a person that an assistant stores beyond one conversation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, RunId};

/// The group of a memory.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum MemoryCategory {
    /// A fact.
    #[default]
    General,
    /// A preference of the person.
    Preference,
    /// An approach that worked.
    Learning,
    /// A failure and its solution.
    Error,
    /// Custom instructions as early versions stored them: one memory of a fixed key. Databases have
    /// it under its name of that time.
    #[serde(rename = "SOUL")]
    CustomInstructions,
}

impl MemoryCategory {
    /// The categories of notes, in the order of the system prompt.
    pub const ALL: [Self; 4] = [Self::General, Self::Preference, Self::Learning, Self::Error];

    /// Returns the name in tools, files and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::General => "GENERAL",
            Self::Preference => "PREFERENCE",
            Self::Learning => "LEARNING",
            Self::Error => "ERROR",
            Self::CustomInstructions => "SOUL",
        }
    }
}

impl fmt::Display for MemoryCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for MemoryCategory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_it = |one: &Self| one.as_str().eq_ignore_ascii_case(text.trim());
        Self::ALL.into_iter().find(is_it).ok_or_else(|| {
            format!("\"{text}\" is not a category; use general, preference, learning or error")
        })
    }
}

/// The author of a row: a person, or a call of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Author {
    /// Name of the person, token or agent.
    pub by: String,
    /// The run, if a model wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The call, if a tool wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

impl Author {
    /// Creates the author for a person, or for a client with a token.
    #[must_use]
    pub fn person(by: impl Into<String>) -> Self {
        Self { by: by.into(), ..Self::default() }
    }
}

/// One memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Owner.
    pub owner: String,
    /// Key, unique for the owner.
    pub key: String,
    /// The text.
    pub content: String,
    /// Its group.
    pub category: MemoryCategory,
    /// How often it was confirmed, from 1.
    pub hit_count: u64,
    /// Creation time, Unix time in milliseconds.
    pub created_at: i64,
    /// Time of the last change, Unix time in milliseconds.
    pub updated_at: i64,
    /// The author of the last change of its text.
    pub author: Author,
    /// Source of the text if it is outside text; `None` for the person's own text. Recalling
    /// outside text makes a run untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// Number of the memory's last change; the store assigns it.
    #[serde(skip)]
    pub revision: i64,
}

/// A change of one memory, for [`crate::store::MemoryStore::write_memory`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryWrite {
    /// Owner.
    pub owner: String,
    /// Key.
    pub key: String,
    /// Revision of the row that the change is based on; `None` for a new row.
    pub expected: Option<i64>,
    /// The row after the change; `None` removes it.
    pub memory: Option<Memory>,
    /// The author of the change.
    pub author: Author,
    /// Unix time in milliseconds.
    pub at: i64,
    /// The recorded change that this one undoes.
    pub undoes: Option<i64>,
}

/// A recorded change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryChange {
    /// Its number: later changes have larger ones.
    pub number: i64,
    /// Key.
    pub key: String,
    /// The row before the change; `None` if it did not exist.
    pub before: Option<Memory>,
    /// The author of the change.
    pub author: Author,
    /// Unix time in milliseconds.
    pub at: i64,
}
