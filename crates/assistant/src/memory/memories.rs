//! The memories of all owners, and all operations on them.

use std::collections::HashSet;
use std::sync::Arc;

use toolcrib_core::similar_names::similar_names;
use toolcrib_core::{
    Author, Clock, Memory, MemoryCategory, MemoryChange, MemoryStore, MemoryWrite, StoreError,
    SystemClock,
};

use super::error::MemoryError;
use super::export::{EXPORT_VERSION, ExportedMemory, MemoryExport};
use super::prompt_memories::{PromptCache, PromptMemories};
use super::recall_index::{RecallIndexes, Recalled};
use crate::SecretCheck;
use crate::secret_shapes;

/// Maximum characters of a key, which is shown on one line.
pub const MAX_KEY_CHARS: usize = 100;
/// Maximum characters of a text: a memory is a note, and some of them are part of every prompt.
pub const MAX_CONTENT_CHARS: usize = 4_000;
/// Maximum memories of one owner: the number with which recall is measured.
pub const MAX_MEMORIES: usize = 10_000;
/// Maximum memories of one import: an owner can have no more.
pub const IMPORT_MOST: usize = MAX_MEMORIES;
/// Minimum confirmations for a heartbeat to suggest promoting a memory into the system prompt.
pub const PROMOTION_HITS: u64 = 5;
/// Key under which memories had the person's own part of the system prompt once. It is reserved:
/// that text is in [`crate::custom_instructions`] now.
pub const FORMER_KEY: &str = "soul";
/// Author of what is moved at a start.
const MOVER: &str = "toolcrib";
/// Maximum attempts at a change while other processes change the same memory.
const ATTEMPTS: usize = 8;

/// The memories of all owners. Clones share them.
#[derive(Clone)]
pub struct Memories {
    store: Arc<dyn MemoryStore>,
    clock: Arc<dyn Clock>,
    is_secret: SecretCheck,
    indexes: Arc<RecallIndexes>,
    prompts: Arc<PromptCache>,
}

/// A text to store.
#[derive(Debug, Clone)]
pub struct NewMemory<'a> {
    /// Owner.
    pub owner: &'a str,
    /// Key.
    pub key: &'a str,
    /// Text.
    pub content: &'a str,
    /// Its group; `None` keeps the group of an earlier memory with this key.
    pub category: Option<MemoryCategory>,
    /// The author.
    pub author: Author,
    /// The source of the text, if it is untrusted.
    pub untrusted: Option<String>,
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Imported {
    /// New memories.
    pub added: usize,
    /// Memories whose text was replaced.
    pub replaced: usize,
    /// Memories that already existed.
    pub unchanged: usize,
    /// Memories that were removed because the file does not have them.
    pub removed: usize,
}

impl Memories {
    /// Creates memories in this store.
    #[must_use]
    pub fn new(store: Arc<dyn MemoryStore>, is_secret: SecretCheck) -> Self {
        Self {
            store,
            clock: Arc::new(SystemClock),
            is_secret,
            indexes: Arc::default(),
            prompts: Arc::default(),
        }
    }

    /// Sets another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Returns all memories of an owner, sorted by key.
    ///
    /// # Errors
    /// [`MemoryError::Store`].
    pub async fn all(&self, owner: &str) -> Result<Vec<Memory>, MemoryError> {
        Ok(self.store.memories(owner).await?)
    }

    /// Returns one memory.
    ///
    /// # Errors
    /// [`MemoryError::UnknownKey`], [`MemoryError::Store`].
    pub async fn get(&self, owner: &str, key: &str) -> Result<Memory, MemoryError> {
        match self.store.memory(owner, key).await? {
            Some(memory) => Ok(memory),
            None => Err(self.unknown(owner, key).await?),
        }
    }

    /// Stores a text. An earlier memory with this key is replaced and keeps its confirmations.
    /// Returns the memory before and after.
    ///
    /// # Errors
    /// [`MemoryError`] if the text cannot be stored.
    pub async fn store(&self, new: NewMemory<'_>) -> Result<(Option<Memory>, Memory), MemoryError> {
        refuse_former_key(new.key)?;
        self.check(new.key, new.content)?;
        let is_new = self.store.memory(new.owner, new.key).await?.is_none();
        if is_new && self.all(new.owner).await?.len() >= MAX_MEMORIES {
            return Err(MemoryError::Full);
        }
        let at = self.clock.now_ms();
        let written = self
            .change(new.owner, new.key, &new.author, |before| {
                let kept = before.as_ref();
                let category = kept.map(|before| before.category).unwrap_or_default();
                Ok(Some(Memory {
                    owner: new.owner.to_owned(),
                    key: new.key.to_owned(),
                    content: new.content.to_owned(),
                    category: new.category.unwrap_or(category),
                    hit_count: kept.map_or(1, |before| before.hit_count),
                    created_at: kept.map_or(at, |before| before.created_at),
                    updated_at: at,
                    author: new.author.clone(),
                    untrusted: new.untrusted.clone(),
                    revision: 0,
                }))
            })
            .await?;
        match written {
            (before, Some(after)) => Ok((before, after)),
            (_, None) => Err(MemoryError::Contended(new.key.to_owned())),
        }
    }

    /// Counts a confirmation.
    ///
    /// # Errors
    /// [`MemoryError::UnknownKey`], [`MemoryError::Store`].
    pub async fn reinforce(
        &self,
        owner: &str,
        key: &str,
        author: &Author,
    ) -> Result<Memory, MemoryError> {
        let at = self.clock.now_ms();
        let changed = self
            .change(owner, key, author, |before| {
                let before = before.ok_or_else(|| missing(key))?;
                let hit_count = before.hit_count.saturating_add(1);
                Ok(Some(Memory { hit_count, updated_at: at, ..before }))
            })
            .await;
        match changed {
            Ok((_, Some(after))) => Ok(after),
            Ok((_, None)) => Err(MemoryError::Contended(key.to_owned())),
            Err(error) => Err(self.with_near(owner, error).await?),
        }
    }

    /// Removes a memory and returns it.
    ///
    /// # Errors
    /// [`MemoryError::UnknownKey`], [`MemoryError::Store`].
    pub async fn forget(
        &self,
        owner: &str,
        key: &str,
        author: &Author,
    ) -> Result<Memory, MemoryError> {
        let forgotten = self
            .change(owner, key, author, |before| before.ok_or_else(|| missing(key)).map(|_| None))
            .await;
        match forgotten {
            Ok((Some(before), _)) => Ok(before),
            Ok((None, _)) => Err(missing(key)),
            Err(error) => Err(self.with_near(owner, error).await?),
        }
    }

    /// Returns the memories of all owners in which earlier versions stored the person's own part of
    /// the system prompt.
    ///
    /// # Errors
    /// [`MemoryError::Store`].
    pub(crate) async fn former_instructions(&self) -> Result<Vec<Memory>, MemoryError> {
        Ok(self.store.memories_under(FORMER_KEY).await?)
    }

    /// Removes such a memory. It is no change that can be taken back: the text is kept elsewhere.
    pub(crate) async fn remove_former_instructions(
        &self,
        former: &Memory,
    ) -> Result<(), MemoryError> {
        let write = MemoryWrite {
            owner: former.owner.clone(),
            key: former.key.clone(),
            expected: Some(former.revision),
            memory: None,
            author: Author::person(MOVER),
            at: self.clock.now_ms(),
            // No change has this number.
            undoes: Some(0),
        };
        match self.store.write_memory(write).await {
            Ok(()) | Err(StoreError::Conflict(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the last change that can be undone, of one key if it is given.
    ///
    /// # Errors
    /// [`MemoryError::Store`].
    pub(crate) async fn last_change(
        &self,
        owner: &str,
        key: Option<&str>,
    ) -> Result<Option<MemoryChange>, MemoryError> {
        Ok(self.store.last_memory_change(owner, key).await?)
    }

    /// Undoes the last change, of one key if it is given. Returns the key and the current memory.
    ///
    /// # Errors
    /// [`MemoryError::NothingToUndo`], [`MemoryError::Store`].
    pub async fn undo(
        &self,
        owner: &str,
        key: Option<&str>,
        author: &Author,
    ) -> Result<(String, Option<Memory>), MemoryError> {
        for _ in 0..ATTEMPTS {
            let last = self.store.last_memory_change(owner, key).await?;
            let last = last.ok_or(MemoryError::NothingToUndo)?;
            let now = self.store.memory(owner, &last.key).await?;
            // A change of the person's text from before it was moved counts as taken back.
            let is_former_instructions = last.key == FORMER_KEY;
            let write = MemoryWrite {
                owner: owner.to_owned(),
                key: last.key.clone(),
                expected: now.map(|now| now.revision),
                memory: last.before.clone().filter(|_| !is_former_instructions),
                author: author.clone(),
                at: self.clock.now_ms(),
                undoes: Some(last.number),
            };
            match self.store.write_memory(write).await {
                Ok(()) if is_former_instructions => {}
                Ok(()) => return Ok((last.key, last.before)),
                Err(StoreError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(MemoryError::Contended(key.unwrap_or_default().to_owned()))
    }

    /// Returns the memories that match a need best, by words and meaning, best first.
    ///
    /// # Errors
    /// [`MemoryError::Index`], [`MemoryError::Store`].
    pub async fn recall(
        &self,
        owner: &str,
        query: &str,
        limit: usize,
    ) -> Result<Vec<Recalled>, MemoryError> {
        self.indexes.recall(&*self.store, owner, query, limit).await
    }

    /// Returns the memories of an owner in the form of prompts.
    ///
    /// # Errors
    /// [`MemoryError::Store`].
    pub async fn for_prompt(&self, owner: &str) -> Result<Arc<PromptMemories>, MemoryError> {
        self.prompts.get(&*self.store, owner).await
    }

    /// Exports all memories of an owner.
    ///
    /// # Errors
    /// [`MemoryError::Store`].
    pub async fn export(&self, owner: &str) -> Result<MemoryExport, MemoryError> {
        let memories = self.all(owner).await?.into_iter().map(ExportedMemory::from).collect();
        Ok(MemoryExport { version: EXPORT_VERSION, memories })
    }

    /// Adds the memories of a file; with `replace`, other memories are removed. Nothing is written
    /// if one of them cannot be stored.
    ///
    /// # Errors
    /// [`MemoryError`] of the first memory that cannot be stored.
    pub async fn import(
        &self,
        owner: &str,
        file: MemoryExport,
        replace: bool,
        author: &Author,
    ) -> Result<Imported, MemoryError> {
        file.check()?;
        for memory in &file.memories {
            refuse_former_key(&memory.key)
                .and_then(|()| self.check(&memory.key, &memory.content))
                .map_err(|error| MemoryError::Import(format!("\"{}\": {error}", memory.key)))?;
        }
        let there = self.all(owner).await?;
        let keys: HashSet<&str> = file.memories.iter().map(|memory| &*memory.key).collect();
        let is_listed = |key: &str| keys.contains(key);
        let kept = there.iter().filter(|memory| !replace && !is_listed(&memory.key)).count();
        if kept + file.memories.len() > MAX_MEMORIES {
            return Err(MemoryError::Full);
        }
        let mut imported = Imported::default();
        for memory in &file.memories {
            let before = self.store.memory(owner, &memory.key).await?;
            if before.as_ref().is_some_and(|before| memory.is_same(before)) {
                imported.unchanged += 1;
                continue;
            }
            let row = memory.to_memory(owner, author, self.clock.now_ms());
            self.change(owner, &memory.key, author, |_| Ok(Some(row.clone()))).await?;
            match before {
                Some(_) => imported.replaced += 1,
                None => imported.added += 1,
            }
        }
        if replace {
            for gone in there.iter().filter(|memory| !is_listed(&memory.key)) {
                self.forget(owner, &gone.key, author).await?;
                imported.removed += 1;
            }
        }
        Ok(imported)
    }

    fn check(&self, key: &str, content: &str) -> Result<(), MemoryError> {
        let is_line = !key.trim().is_empty() && !key.chars().any(char::is_control);
        if !is_line || key.chars().count() > MAX_KEY_CHARS || key.trim() != key {
            return Err(MemoryError::BadKey);
        }
        if content.trim().is_empty() {
            return Err(MemoryError::Empty);
        }
        let chars = content.chars().count();
        if chars > MAX_CONTENT_CHARS {
            return Err(MemoryError::TooLong { chars });
        }
        let is_secret = |text: &str| (self.is_secret)(text) || secret_shapes::occur_in(text);
        if is_secret(content) || is_secret(key) {
            return Err(MemoryError::Secret);
        }
        Ok(())
    }

    /// Changes one memory: `next` computes the new row from the current one, and again if another
    /// process changed it meanwhile.
    async fn change(
        &self,
        owner: &str,
        key: &str,
        author: &Author,
        next: impl Fn(Option<Memory>) -> Result<Option<Memory>, MemoryError>,
    ) -> Result<(Option<Memory>, Option<Memory>), MemoryError> {
        for _ in 0..ATTEMPTS {
            let before = self.store.memory(owner, key).await?;
            let after = next(before.clone())?;
            let write = MemoryWrite {
                owner: owner.to_owned(),
                key: key.to_owned(),
                expected: before.as_ref().map(|before| before.revision),
                memory: after.clone(),
                author: author.clone(),
                at: self.clock.now_ms(),
                undoes: None,
            };
            match self.store.write_memory(write).await {
                Ok(()) => return Ok((before, after)),
                Err(StoreError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(MemoryError::Contended(key.to_owned()))
    }

    async fn with_near(&self, owner: &str, error: MemoryError) -> Result<MemoryError, MemoryError> {
        match error {
            MemoryError::UnknownKey { key, .. } => self.unknown(owner, &key).await,
            error => Ok(error),
        }
    }

    /// Creates the error for an unknown key, with similar keys. Untrusted keys are not suggested.
    async fn unknown(&self, owner: &str, key: &str) -> Result<MemoryError, MemoryError> {
        let all = self.all(owner).await?;
        let trusted = all.iter().filter(|memory| memory.untrusted.is_none());
        let near = similar_names(key, trusted.map(|memory| memory.key.as_str()));
        let near = near.into_iter().map(str::to_owned).collect();
        Ok(MemoryError::UnknownKey { key: shown(key), near })
    }
}

fn refuse_former_key(key: &str) -> Result<(), MemoryError> {
    if key == FORMER_KEY { Err(MemoryError::Reserved) } else { Ok(()) }
}

fn missing(key: &str) -> MemoryError {
    MemoryError::UnknownKey { key: shown(key), near: Vec::new() }
}

/// Escapes a key for an error message; it may be any text.
fn shown(key: &str) -> String {
    key.chars().filter(|c| !c.is_control()).take(MAX_KEY_CHARS).collect()
}
