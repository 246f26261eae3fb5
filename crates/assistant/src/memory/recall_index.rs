//! Recall: the index of tool search over memories, one per owner, updated before each search.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{Memory, MemoryStore};
use toolcrib_tool_search::{Index, MIN_SCORE, Model, ToolProfile};

use super::error::MemoryError;

/// Minimum score of a result. Lower than for tools, because an irrelevant memory costs only its few
/// words, and there is no other way to find a memory.
const MIN_RECALL_SCORE: f32 = MIN_SCORE * 0.6;
/// Maximum owners whose indexes are kept in memory.
const MOST_OWNERS: usize = 64;

/// A memory that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// The memory.
    pub memory: Memory,
    /// Its score, 0 to about 1.
    pub score: f32,
}

/// The indexes of owners.
#[derive(Default)]
pub(super) struct RecallIndexes {
    owners: Mutex<HashMap<String, Arc<OwnerIndex>>>,
}

/// The memories of one owner at a version of the store.
struct OwnerIndex {
    version: i64,
    index: Index,
    memories: HashMap<String, Memory>,
}

impl RecallIndexes {
    pub(super) async fn recall(
        self: &Arc<Self>,
        store: &dyn MemoryStore,
        owner: &str,
        query: &str,
        limit: usize,
    ) -> Result<Vec<Recalled>, MemoryError> {
        let version = store.memory_version(owner).await?;
        let found = self.get(owner).filter(|found| found.version == version);
        let index = match found {
            Some(index) => index,
            None => {
                let memories = store.memories(owner).await?;
                let (indexes, owner) = (Arc::clone(self), owner.to_owned());
                // Indexing ten thousand new memories takes half a second, which must not block
                // other tasks.
                let update = move || indexes.update(&owner, version, memories);
                let updated = tokio::task::spawn_blocking(update).await;
                updated.map_err(|error| MemoryError::Index(error.to_string()))??
            }
        };
        let hits = index.index.find(query, limit);
        let recalled = hits.into_iter().filter(|hit| hit.named || hit.score >= MIN_RECALL_SCORE);
        Ok(recalled
            .filter_map(|hit| {
                let memory = index.memories.get(&*hit.id)?.clone();
                Some(Recalled { memory, score: hit.score })
            })
            .collect())
    }

    fn get(&self, owner: &str) -> Option<Arc<OwnerIndex>> {
        self.lock().get(owner).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<OwnerIndex>>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Indexes new and changed memories, and removes deleted ones.
    fn update(
        &self,
        owner: &str,
        version: i64,
        memories: Vec<Memory>,
    ) -> Result<Arc<OwnerIndex>, MemoryError> {
        // Take the index out: if a search still reads the old one, create a new one.
        let old = self.lock().remove(owner).and_then(Arc::into_inner);
        let mut index = match old {
            Some(old) => old,
            None => OwnerIndex {
                version,
                index: Index::new(
                    Model::builtin().map_err(|error| MemoryError::Index(error.to_string()))?,
                ),
                memories: HashMap::new(),
            },
        };
        index.sync(version, memories);
        let index = Arc::new(index);
        let mut owners = self.lock();
        if owners.len() >= MOST_OWNERS {
            owners.clear();
        }
        owners.insert(owner.to_owned(), Arc::clone(&index));
        Ok(index)
    }
}

impl OwnerIndex {
    fn sync(&mut self, version: i64, memories: Vec<Memory>) {
        let there: HashSet<&str> = memories.iter().map(|memory| &*memory.key).collect();
        let index = &mut self.index;
        self.memories.retain(|key, _| {
            let stays = there.contains(key.as_str());
            if !stays {
                index.remove(key);
            }
            stays
        });
        for memory in memories {
            let known = self.memories.get(&memory.key);
            if known.is_none_or(|known| known.content != memory.content) {
                let profile = ToolProfile {
                    name: memory.key.clone(),
                    description: memory.content.clone(),
                    ..ToolProfile::default()
                };
                self.index.put(&memory.key, &profile);
            }
            self.memories.insert(memory.key.clone(), memory);
        }
        self.version = version;
    }
}
