//! Errors of operations on memories.

use toolcrib_core::{StoreError, ToolError};

use super::memories::{MAX_CONTENT_CHARS, MAX_KEY_CHARS, MAX_MEMORIES};
use crate::rows::near_names;

/// Why an operation on memories failed. The texts are for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// No memory has this key.
    #[error("There is no memory \"{key}\".{}", near_names(near))]
    UnknownKey {
        /// The key.
        key: String,
        /// Similar keys.
        near: Vec<String>,
    },
    /// The key is invalid.
    #[error(
        "A key is one line of 1 to {MAX_KEY_CHARS} characters, such as \"favorite_color\". Choose another one."
    )]
    BadKey,
    /// The text is empty.
    #[error("The content is empty. Say in content what is to be kept.")]
    Empty,
    /// The text is too long.
    #[error(
        "The content has {chars} characters; a memory has at most {MAX_CONTENT_CHARS}. Keep the essence, or write the text to a file and store where it is."
    )]
    TooLong {
        /// Number of characters.
        chars: usize,
    },
    /// The owner has the maximum number of memories.
    #[error(
        "There are {MAX_MEMORIES} memories, which is the maximum. Forget one that is no longer needed, then store this one."
    )]
    Full,
    /// The text contains a secret.
    #[error(
        "The text contains a secret, so it was not stored: memories are shown to models. The person can keep it with `toolcrib secret set NAME`; tools then use it by its name."
    )]
    Secret,
    /// A fact is not a learning.
    #[error(
        "memory_learn takes the categories LEARNING, ERROR and PREFERENCE. Use memory_store for a general fact."
    )]
    General,
    /// The key is reserved for the person's own part of the system prompt.
    #[error(
        "The key \"soul\" is reserved: earlier versions had the user's custom instructions there. The user writes them with `toolcrib prompt set`, and promote_learning appends to them. Choose another key for a memory."
    )]
    Reserved,
    /// There is no change that can be undone.
    #[error("There is no change of a memory to undo.")]
    NothingToUndo,
    /// Other processes kept changing it.
    #[error("The memory \"{0}\" is being changed by another process. Try again.")]
    Contended(String),
    /// An exported file is invalid.
    #[error("{0}")]
    Import(String),
    /// The embedding model cannot be loaded.
    #[error("Memories cannot be searched: {0}")]
    Index(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<MemoryError> for ToolError {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::Store(error) => {
                Self::execution("The memories cannot be read or written now. Try again later.")
                    .with_detail(error.to_string())
            }
            MemoryError::Index(detail) => {
                Self::execution("Memories cannot be searched now.").with_detail(detail)
            }
            MemoryError::Contended(_) | MemoryError::NothingToUndo | MemoryError::Import(_) => {
                Self::execution(error.to_string())
            }
            error => Self::validation(error.to_string()),
        }
    }
}
