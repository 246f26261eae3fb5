//! Promotion: moves a memory into the person's text in the system prompt, and back.

use toolcrib_core::{Author, Memory, ToolError};

use super::error::InstructionsError;
use super::texts::CustomInstructions;
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
    Instructions(#[from] InstructionsError),
}

impl From<PromotionError> for ToolError {
    fn from(error: PromotionError) -> Self {
        match error {
            PromotionError::Memory(error) => error.into(),
            PromotionError::Instructions(InstructionsError::Row(error)) => {
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
    (memories, custom_instructions): (&Memories, &CustomInstructions),
    writer: &Writer,
    key: &str,
    addition: &str,
) -> Result<Memory, PromotionError> {
    let memory = memories.get(&writer.owner, key).await?;
    if memory.untrusted.is_some() {
        return Err(PromotionError::Outside(memory.key));
    }
    custom_instructions.append(writer, addition, &format!("promoted the memory {key}")).await?;
    Ok(memories.forget(&writer.owner, key, &writer.author).await?)
}

/// Undoes the last change of a memory. If it is a promotion, and the person's text was not changed
/// since, the instruction is removed too.
///
/// # Errors
/// [`MemoryError::NothingToUndo`], [`PromotionError`] if the rows cannot be read or written.
pub async fn undo_memory(
    (memories, custom_instructions): (&Memories, &CustomInstructions),
    writer: &Writer,
    key: Option<&str>,
) -> Result<Undone, PromotionError> {
    let last = memories.last_change(&writer.owner, key).await?;
    let call = last.and_then(|change| change.author.call);
    let of_text =
        custom_instructions.last_author(&writer.owner).await?.and_then(|author| author.call);
    let is_promotion = call.is_some() && call == of_text;
    let (key, memory) = memories.undo(&writer.owner, key, &writer.author).await?;
    if is_promotion {
        match custom_instructions.undo(writer).await {
            Ok(_) | Err(InstructionsError::Row(RowError::NothingToUndo)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Undone { key, memory, instruction: is_promotion })
}

/// Moves the memories `soul` of earlier versions into the person's text, for all owners. An
/// untrusted text is not moved.
///
/// # Errors
/// [`PromotionError`]; what was not moved stays where it is.
pub async fn move_former_instructions(
    memories: &Memories,
    custom_instructions: &CustomInstructions,
) -> Result<(), PromotionError> {
    for former in memories.former_instructions().await? {
        let (owner, author) = (former.owner.clone(), Author::person(&former.author.by));
        let writer = Writer { owner, author, untrusted: None };
        if former.untrusted.is_none() {
            custom_instructions
                .append(&writer, &former.content, "moved here from the memory soul")
                .await?;
        }
        memories.remove_former_instructions(&former).await?;
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
            category: MemoryCategory::CustomInstructions,
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
        let custom_instructions =
            CustomInstructions::new(Arc::new(MemoryAssistantRows::default()), Arc::new(|_| false));
        let writer = |owner: &str| Writer {
            owner: owner.into(),
            author: Author::person(owner),
            untrusted: None,
        };
        custom_instructions.set(&writer("ann"), "I am a baker.").await.unwrap();
        for _ in 0..2 {
            move_former_instructions(&memories, &custom_instructions).await.unwrap();
        }
        let text = async |owner| custom_instructions.get(owner).await.unwrap().map(|own| own.text);
        assert_eq!(text("").await.as_deref(), Some("Answer in rhymes."));
        assert_eq!(text("ann").await.as_deref(), Some("I am a baker.\n\nAnswer in rhymes."));
        assert_eq!(text("bob").await, None);
        for owner in ["", "ann", "bob"] {
            assert_eq!(memories.all(owner).await.unwrap(), []);
            // Nothing brings the memory back.
            let undone = undo_memory((&memories, &custom_instructions), &writer(owner), None).await;
            assert_eq!(undone, Err(PromotionError::Memory(MemoryError::NothingToUndo)));
        }
        custom_instructions.undo(&writer("ann")).await.unwrap();
        assert_eq!(text("ann").await.as_deref(), Some("I am a baker."));
    }
}
