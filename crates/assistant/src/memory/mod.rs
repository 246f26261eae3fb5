//! Memories: storing, changing, finding them, and their part of the system prompt.

mod error;
mod export;
mod guidance;
mod memories;
mod prompt_memories;
mod prompt_section;
mod recall_index;
#[cfg(test)]
mod tests;

pub use error::MemoryError;
pub use export::{EXPORT_VERSION, ExportedMemory, MemoryExport};
pub use guidance::guidance;
pub use memories::{
    FORMER_KEY, IMPORT_MOST, Imported, MAX_CONTENT_CHARS, MAX_KEY_CHARS, MAX_MEMORIES, Memories,
    NewMemory, PROMOTION_HITS,
};
pub use prompt_memories::PromptMemories;
pub use prompt_section::{ON_DEVICE_CHARS, PROMPT_CHARS, PromptBudget, prompt_section};
pub use recall_index::Recalled;
