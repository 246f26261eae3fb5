//! Index of tools by words (BM25) and meaning (embeddings), with incremental updates.
//!
//! Invariants
//! - Adding, replacing and removing tools in any order gives the same scores as a new index of the
//!   remaining tools (property test).
//! - The cost of a query or a profile is bounded for any content.
//! - Scores range from 0 to about 1 and are comparable across queries, so that a threshold is
//!   meaningful.

mod bm25;
mod embeddings;
mod name_match;
mod profile_fields;
mod two_pass_ranking;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

use crate::model::Model;
use crate::tool_profile::ToolProfile;
use bm25::Bm25Index;
use embeddings::EmbeddingIndex;
use name_match::NameIndex;
use two_pass_ranking::Scratch;

/// A search result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Id of the tool.
    pub id: Arc<str>,
    /// Score, 0 to about 1; see [`crate::MIN_SCORE`].
    pub score: f32,
    /// Whether the query contains the tool's name; such hits come first.
    pub named: bool,
}

/// Data of a tool besides its words and vector.
struct Slot {
    id: Arc<str>,
    names: Vec<String>,
}

/// The index.
pub struct Index {
    model: Arc<Model>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    by_id: HashMap<Arc<str>, u32, RandomState>,
    names: NameIndex,
    lexical: Bm25Index,
    dense: EmbeddingIndex,
    /// Reusable buffers, so that a query does not request a page from the system for every hundred
    /// tools.
    scratch: Mutex<Vec<Scratch>>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("tools", &self.len()).finish_non_exhaustive()
    }
}

impl Index {
    /// Creates an empty index.
    #[must_use]
    pub fn new(model: Arc<Model>) -> Self {
        Self {
            dense: EmbeddingIndex::new(model.dimensions()),
            model,
            slots: Vec::new(),
            free: Vec::new(),
            by_id: HashMap::default(),
            names: NameIndex::default(),
            lexical: Bm25Index::default(),
            scratch: Mutex::default(),
        }
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Returns whether the index is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Adds a tool and replaces an earlier one with this id.
    pub fn put(&mut self, id: &str, profile: &ToolProfile) {
        self.remove(id);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            // More than 2^32 tools do not fit into memory.
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        self.lexical.add(slot, profile);
        self.dense.add(slot, profile, &self.model);
        let names: Vec<String> = profile_fields::names(profile).collect();
        for name in &names {
            self.names.add(name.clone(), slot);
        }
        let id: Arc<str> = id.into();
        self.by_id.insert(Arc::clone(&id), slot);
        self.slots[slot as usize] = Some(Slot { id, names });
    }

    /// Removes a tool; `false` if the id is unknown.
    pub fn remove(&mut self, id: &str) -> bool {
        let Some(slot) = self.by_id.remove(id) else { return false };
        self.lexical.remove(slot);
        self.dense.remove(slot);
        if let Some(gone) = self.slots[slot as usize].take() {
            for name in gone.names {
                self.names.remove(&name, slot);
            }
        }
        self.free.push(slot);
        true
    }

    /// Returns the best tools for a query, best first, at most `limit`; fewer only if there are
    /// fewer tools. The caller applies [`crate::MIN_SCORE`].
    #[must_use]
    pub fn find(&self, query: &str, limit: usize) -> Vec<Hit> {
        self.find_among(query, limit, |_| true)
    }

    /// Like [`find`](Self::find), among the tools whose ids pass `may_see`. Other tools only
    /// influence how rare a word is.
    #[must_use]
    pub fn find_among(
        &self,
        query: &str,
        limit: usize,
        may_see: impl Fn(&str) -> bool,
    ) -> Vec<Hit> {
        if limit == 0 || self.is_empty() {
            return Vec::new();
        }
        let mut scratch = self.pool().pop().unwrap_or_default();
        let hits = self.rank(query, limit.min(self.len()), &mut scratch, may_see);
        self.pool().push(scratch);
        hits
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Vec<Scratch>> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self, slot: u32) -> &str {
        self.slots[slot as usize].as_ref().map_or("", |slot| &slot.id)
    }

    /// Orders best first, and equal scores by id, so that the result does not depend on the order
    /// of insertion.
    fn order(&self, a: (f32, u32), b: (f32, u32)) -> Ordering {
        b.0.total_cmp(&a.0).then_with(|| self.id(a.1).cmp(self.id(b.1)))
    }
}
