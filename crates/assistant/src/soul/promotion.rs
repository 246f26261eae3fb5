//! Promotion: moves a memory into the person's text in the system prompt, and back.

use toolcrib_core::{Author, Memory, ToolError};

use super::error::SoulError;
use super::souls::Souls;
use crate::memory::{Memories, MemoryError};
use crate::rows::{RowError, Writer};

/// Why a memory was not promoted. The texts are for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromotionError {
    /// The memory is untrusted.
    #[error(
        "The memory \"{0}\" cannot be promoted: it came from outside text. The user can confirm it with `toolcrib memory edit`."
    )]
    Outside(String),
    /// The memory cannot be read or removed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The text cannot be written.
    #[error("The system prompt was not changed: {0}.")]
    Soul(#[from] SoulError),
}

impl From<PromotionError> for ToolError {
    fn from(error: PromotionError) -> Self {
        match error {
            PromotionError::Memory(error) => error.into(),
            PromotionError::Soul(SoulError::Row(error)) => {
                Self::execution("The system prompt cannot be written now. Try again later.")
                    .with_detail(error.to_string())
            }
            error => Self::validation(error.to_string()),
        }
    }
}

/// An undone change of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// Key of the memory.
    pub key: String,
    /// The current memory.
    pub memory: Option<Memory>,
    /// Whether its instruction was also removed from the system prompt.
    pub instruction: bool,
}

/// Appends `addition` to the person's text and removes the memory; returns the removed memory. Both
/// changes have the same author, so that [`undo_memory`] recognizes them as one.
///
/// # Errors
/// [`PromotionError`]; nothing was changed unless the memory could not be removed.
pub async fn promote(
    (memories, souls): (&Memories, &Souls),
    writer: &Writer,
    key: &str,
    addition: &str,
) -> Result<Memory, PromotionError> {
    let memory = memories.get(&writer.owner, key).await?;
    if memory.untrusted.is_some() {
        return Err(PromotionError::Outside(memory.key));
    }
    souls.append(writer, addition, &format!("promoted the memory {key}")).await?;
    Ok(memories.forget(&writer.owner, key, &writer.author).await?)
}

/// Undoes the last change of a memory. If it is a promotion, and the person's text was not changed
/// since, the instruction is removed too.
///
/// # Errors
/// [`MemoryError::NothingToUndo`], [`PromotionError`] if the rows cannot be read or written.
pub async fn undo_memory(
    (memories, souls): (&Memories, &Souls),
    writer: &Writer,
    key: Option<&str>,
) -> Result<Undone, PromotionError> {
    let last = memories.last_change(&writer.owner, key).await?;
    let call = last.and_then(|change| change.author.call);
    let of_text = souls.last_author(&writer.owner).await?.and_then(|author| author.call);
    let is_promotion = call.is_some() && call == of_text;
    let (key, memory) = memories.undo(&writer.owner, key, &writer.author).await?;
    if is_promotion {
        match souls.undo(writer).await {
            Ok(_) | Err(SoulError::Row(RowError::NothingToUndo)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Undone { key, memory, instruction: is_promotion })
}

/// Moves the memories `soul` of earlier versions into the person's text, for all owners. An
/// untrusted text is not moved.
///
/// # Errors
/// [`PromotionError`]; memories that were not moved are unchanged.
pub async fn move_former_souls(memories: &Memories, souls: &Souls) -> Result<(), PromotionError> {
    for soul in memories.former_souls().await? {
        let (owner, author) = (soul.owner.clone(), Author::person(&soul.author.by));
        let writer = Writer { owner, author, untrusted: None };
        if soul.untrusted.is_none() {
            souls.append(&writer, &soul.content, "moved here from the memory soul").await?;
        }
        memories.remove_former_soul(&soul).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toolcrib_core::{MemoryCategory, MemoryStore, MemoryWrite};
    use toolcrib_engine::store::{MemoryAssistantRows, MemoryMemories};

    use super::*;

    /// Stores a row as earlier versions wrote it.
    async fn store_former(store: &MemoryMemories, owner: &str, untrusted: Option<String>) {
        let memory = Memory {
            owner: owner.into(),
            key: "soul".into(),
            content: "Answer in rhymes.".into(),
            category: MemoryCategory::Soul,
            hit_count: 1,
            created_at: 0,
            updated_at: 0,
            author: Author::person("ann"),
            untrusted,
            revision: 0,
        };
        let write = MemoryWrite {
            owner: owner.into(),
            key: memory.key.clone(),
            expected: None,
            memory: Some(memory),
            author: Author::person("ann"),
            at: 0,
            undoes: None,
        };
        store.write_memory(write).await.unwrap();
    }

    #[tokio::test]
    async fn the_memory_soul_of_every_owner_is_moved_once() {
        let store = Arc::new(MemoryMemories::default());
        for owner in ["", "ann"] {
            store_former(&store, owner, None).await;
        }
        store_former(&store, "bob", Some("fetch_url".into())).await;
        let memories = Memories::new(store, Arc::new(|_| false));
        let souls = Souls::new(Arc::new(MemoryAssistantRows::default()), Arc::new(|_| false));
        let writer = |owner: &str| Writer {
            owner: owner.into(),
            author: Author::person(owner),
            untrusted: None,
        };
        souls.set(&writer("ann"), "I am a baker.").await.unwrap();
        for _ in 0..2 {
            move_former_souls(&memories, &souls).await.unwrap();
        }
        let text = async |owner| souls.get(owner).await.unwrap().map(|soul| soul.text);
        assert_eq!(text("").await.as_deref(), Some("Answer in rhymes."));
        assert_eq!(text("ann").await.as_deref(), Some("I am a baker.\n\nAnswer in rhymes."));
        assert_eq!(text("bob").await, None);
        for owner in ["", "ann", "bob"] {
            assert_eq!(memories.all(owner).await.unwrap(), []);
            // The memory cannot be restored.
            let undone = undo_memory((&memories, &souls), &writer(owner), None).await;
            assert_eq!(undone, Err(PromotionError::Memory(MemoryError::NothingToUndo)));
        }
        souls.undo(&writer("ann")).await.unwrap();
        assert_eq!(text("ann").await.as_deref(), Some("I am a baker."));
    }
}
