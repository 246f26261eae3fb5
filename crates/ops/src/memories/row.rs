//! A memory in replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::memory::MemoryError;
use toolcrib_core::{Author, Memory};

use crate::context::StoreContext;
use crate::error::{OpError, Resource};

/// A memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Memory")]
pub struct MemoryReply {
    /// Its key.
    pub key: String,
    /// Its text; only for callers that may see payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// `GENERAL`, `PREFERENCE`, `LEARNING` or `ERROR`.
    pub category: String,
    /// How often it was confirmed.
    pub hit_count: u64,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// The person, token or agent that wrote it.
    pub by: String,
    /// The run that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The call that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Source of the text, if that is untrusted. Such a memory is not in system prompts, and
    /// recalling it makes a run untrusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

impl MemoryReply {
    pub(super) fn new(ctx: &StoreContext<'_>, memory: Memory) -> Self {
        Self {
            key: memory.key,
            content: ctx.shows_payloads.then_some(memory.content),
            category: memory.category.to_string(),
            hit_count: memory.hit_count,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
            by: memory.author.by,
            run: memory.author.run.map(|run| run.to_string()),
            call: memory.author.call.map(|call| call.to_string()),
            untrusted: memory.untrusted,
        }
    }
}

/// Returns the author of this caller's changes.
pub(super) fn author(ctx: &StoreContext<'_>) -> Author {
    Author::person(ctx.actor)
}

impl From<MemoryError> for OpError {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::Store(error) => Self::Store(error),
            MemoryError::UnknownKey { key, near } => {
                Self::NotFound { what: Resource::Memory, name: key, near }
            }
            MemoryError::NothingToUndo => Self::Gone(error.to_string()),
            MemoryError::Contended(_) | MemoryError::Full => Self::Conflict(error.to_string()),
            MemoryError::Index(_) => Self::Internal(error.to_string()),
            MemoryError::BadKey
            | MemoryError::Empty
            | MemoryError::TooLong { .. }
            | MemoryError::Secret
            | MemoryError::General
            | MemoryError::Reserved
            | MemoryError::Import(_) => Self::Invalid(error.to_string()),
        }
    }
}
