//! The index of tools: by words and by meaning, changed one tool at a time.
//!
//! Invariants
//! - Adding, replacing and removing in any order gives the scores of an index that was built anew from what is left (property test).
//! - What a query or a profile costs is bounded, whatever it holds.
//! - Scores lie in 0 to about 1 and mean the same for every query, so that a floor can be told.

mod dense;
mod exact;
mod field;
mod lexical;
mod rank;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;

use crate::model::Model;
use crate::profile::Profile;
use dense::Dense;
use exact::Names;
use lexical::Lexical;
use rank::Scratch;

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The id under which it was added.
    pub id: Arc<str>,
    /// How well it fits, 0 to about 1; see [`crate::FLOOR`].
    pub score: f32,
    /// Whether the query spells out its name: it comes first, whatever its score.
    pub named: bool,
}

/// What is kept of a tool besides its words and its vector.
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
    names: Names,
    lexical: Lexical,
    dense: Dense,
    /// Memory of earlier queries, so that a query does not ask the system for a page per hundred tools.
    scratch: Mutex<Vec<Scratch>>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("tools", &self.len()).finish_non_exhaustive()
    }
}

impl Index {
    /// An empty index.
    #[must_use]
    pub fn new(model: Arc<Model>) -> Self {
        Self {
            dense: Dense::new(model.dimensions()),
            model,
            slots: Vec::new(),
            free: Vec::new(),
            by_id: HashMap::default(),
            names: Names::default(),
            lexical: Lexical::default(),
            scratch: Mutex::default(),
        }
    }

    /// Tools in the index.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Adds a tool, in place of an earlier one with its id.
    pub fn put(&mut self, id: &str, profile: &Profile) {
        self.remove(id);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            // Four thousand million tools do not fit into any memory.
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        self.lexical.add(slot, profile);
        self.dense.add(slot, profile, &self.model);
        let names: Vec<String> = field::names(profile).collect();
        for name in &names {
            self.names.add(name.clone(), slot);
        }
        let id: Arc<str> = id.into();
        self.by_id.insert(Arc::clone(&id), slot);
        self.slots[slot as usize] = Some(Slot { id, names });
    }

    /// Takes a tool out; `false` = there is none with this id.
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

    /// The best tools for a need, best first, at most `limit`; fewer only when there are fewer tools. Whether they are any good is for the
    /// caller to decide: see [`crate::FLOOR`].
    #[must_use]
    pub fn find(&self, query: &str, limit: usize) -> Vec<Hit> {
        self.find_among(query, limit, |_| true)
    }

    /// The same among the tools whose ids pass `may_see`; others do not show in any way but in how rare a word is.
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

    /// Best first; equals in the order of their ids, so that the order in which tools were added does not show.
    fn order(&self, a: (f32, u32), b: (f32, u32)) -> Ordering {
        b.0.total_cmp(&a.0).then_with(|| self.id(a.1).cmp(self.id(b.1)))
    }
}
