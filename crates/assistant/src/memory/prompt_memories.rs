//! The memories of an owner in the form of prompts, cached until one changes, so that a run that
//! starts reads ten thousand rows only after a change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{Memory, MemoryStore};

use super::error::MemoryError;
use super::prompt_section::{PromptBudget, prompt_section};

/// Maximum owners whose sections are cached: each is at most 8,000 characters.
const MOST_OWNERS: usize = 1_024;

/// The part of the prompt from the memories of one owner.
#[derive(Debug, Default)]
pub struct PromptMemories {
    version: i64,
    is_private: bool,
    on_device: Option<String>,
    elsewhere: Option<String>,
}

impl PromptMemories {
    fn new(version: i64, memories: &[Memory]) -> Self {
        Self {
            version,
            is_private: memories.iter().any(|memory| memory.untrusted.is_none()),
            on_device: prompt_section(memories, PromptBudget::for_model(true)),
            elsewhere: prompt_section(memories, PromptBudget::for_model(false)),
        }
    }

    /// Returns whether a run with these memories in its prompt has read private data.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.is_private
    }

    /// Returns the section for a model; `None` without memories.
    #[must_use]
    pub fn section(&self, on_device: bool) -> Option<&str> {
        let section = if on_device { &self.on_device } else { &self.elsewhere };
        section.as_deref()
    }
}

/// The sections of owners at a version of the store.
#[derive(Default)]
pub(super) struct PromptCache {
    owners: Mutex<HashMap<String, Arc<PromptMemories>>>,
}

impl PromptCache {
    pub(super) async fn get(
        &self,
        store: &dyn MemoryStore,
        owner: &str,
    ) -> Result<Arc<PromptMemories>, MemoryError> {
        // Read the version before the rows: after a change in between, the next run reads them
        // again.
        let version = store.memory_version(owner).await?;
        let known = self.lock().get(owner).cloned();
        if let Some(known) = known.filter(|known| known.version == version) {
            return Ok(known);
        }
        let made = Arc::new(PromptMemories::new(version, &store.memories(owner).await?));
        let mut owners = self.lock();
        if owners.len() >= MOST_OWNERS {
            owners.clear();
        }
        owners.insert(owner.to_owned(), Arc::clone(&made));
        Ok(made)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<PromptMemories>>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
