//! Search: combines the ranks by words and by meaning (reciprocal rank fusion).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::FoundChunk;
use toolcrib_core::store::DocumentChunkStore;
use toolcrib_tool_search::{Model, PassageIndex, content_words};

use super::error::DocumentError;
use super::model::{Document, DocumentStatus};

/// Number of candidates of each ranking.
const CANDIDATES: usize = 60;
/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
const FUSION: f32 = 60.0;
/// Minimum cosine of a passage that shares no word with the query.
const MIN_COSINE: f32 = 0.3;
/// Maximum owners whose vectors are kept in memory.
const MOST_OWNERS: usize = 4;
/// Vectors that are read at once.
const BATCH: usize = 5_000;

/// A passage that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Id of the document.
    pub document: String,
    /// Its page or sheet, from 1; 0 if the document has none.
    pub page: u32,
    /// Its first character in the page.
    pub offset: u32,
    /// The text.
    pub text: String,
}

/// The vectors of owners, as of the last search.
#[derive(Default)]
pub(super) struct Vectors {
    owners: Mutex<HashMap<String, Arc<OwnerVectors>>>,
}

struct OwnerVectors {
    /// Number of the last chunk in the store.
    last: i64,
    index: PassageIndex,
    documents: HashMap<String, KnownDocument>,
}

/// A document in the index.
struct KnownDocument {
    group: u32,
    vectors: u32,
}

/// Finds the passages of these documents that match a query best.
pub(super) async fn find(
    store: &dyn DocumentChunkStore,
    vectors: &Vectors,
    owner: &str,
    query: &str,
    limit: usize,
    documents: &[Document],
) -> Result<Vec<Passage>, DocumentError> {
    let words = content_words(query);
    if words.is_empty() {
        return Err(DocumentError::NoQuery);
    }
    // A store with its own threads searches words while this task compares vectors.
    let (by_words, known) = tokio::join!(
        store.find_chunks(owner, &words, CANDIDATES),
        nearest(store, vectors, owner, query, documents),
    );
    let (by_words, by_meaning) = (by_words?, known?);
    let ids: HashSet<&str> = documents.iter().map(|document| &*document.id).collect();
    let is_there = |id: &str| ids.contains(id);
    let mut scores: HashMap<i64, f32> = HashMap::new();
    let there: Vec<&FoundChunk> =
        by_words.iter().filter(|found| is_there(&found.document)).collect();
    for (rank, found) in there.iter().enumerate() {
        *scores.entry(found.id).or_default() += (FUSION + rank as f32).recip();
    }
    for (rank, (id, cosine)) in by_meaning.iter().enumerate() {
        if *cosine >= MIN_COSINE || scores.contains_key(id) {
            *scores.entry(*id).or_default() += (FUSION + rank as f32).recip();
        }
    }
    let mut best: Vec<(i64, f32)> = scores.into_iter().collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    best.truncate(limit);
    let ids: Vec<i64> = best.iter().map(|(id, _)| *id).collect();
    let mut rows: HashMap<i64, FoundChunk> =
        store.chunks_by_id(owner, &ids).await?.into_iter().map(|row| (row.id, row)).collect();
    Ok(ids.iter().filter_map(|id| rows.remove(id)).map(passage).collect())
}

/// Returns the passages of these documents whose meaning is nearest to a query, with the cosine.
async fn nearest(
    store: &dyn DocumentChunkStore,
    vectors: &Vectors,
    owner: &str,
    query: &str,
    documents: &[Document],
) -> Result<Vec<(i64, f32)>, DocumentError> {
    let known = vectors.current(store, owner, documents).await?;
    let ids: HashSet<&str> = documents.iter().map(|document| &*document.id).collect();
    let groups: Vec<bool> = known.visible(|id| ids.contains(id));
    let may_see = |group: u32| groups.get(group as usize).copied().unwrap_or_default();
    Ok(known.index.nearest(query, CANDIDATES, may_see))
}

fn passage(found: FoundChunk) -> Passage {
    let FoundChunk { document, chunk, .. } = found;
    Passage { document, page: chunk.page, offset: chunk.start, text: chunk.text }
}

impl Vectors {
    /// Returns the current vectors of an owner. Reads new chunks, and all chunks if some were
    /// removed.
    async fn current(
        &self,
        store: &dyn DocumentChunkStore,
        owner: &str,
        documents: &[Document],
    ) -> Result<Arc<OwnerVectors>, DocumentError> {
        let last = store.last_chunk(owner).await?;
        let old = self.lock().remove(owner);
        if let Some(old) = old.as_ref().filter(|old| old.last == last) {
            self.keep(owner, Arc::clone(old));
            return Ok(Arc::clone(old));
        }
        let model = Model::builtin().map_err(|error| DocumentError::Index(error.to_string()))?;
        let old = old.and_then(Arc::into_inner);
        let mut known = old.unwrap_or_else(|| OwnerVectors::new(Arc::clone(&model)));
        known.read_new(store, owner).await?;
        if known.has_removed(last, documents) {
            known = OwnerVectors::new(model);
            known.read_new(store, owner).await?;
        }
        let known = Arc::new(known);
        self.keep(owner, Arc::clone(&known));
        Ok(known)
    }

    fn keep(&self, owner: &str, known: Arc<OwnerVectors>) {
        let mut owners = self.lock();
        if owners.len() >= MOST_OWNERS {
            owners.clear();
        }
        owners.insert(owner.to_owned(), known);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<OwnerVectors>>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnerVectors {
    fn new(model: Arc<Model>) -> Self {
        Self { last: 0, index: PassageIndex::new(model), documents: HashMap::new() }
    }

    async fn read_new(
        &mut self,
        store: &dyn DocumentChunkStore,
        owner: &str,
    ) -> Result<(), DocumentError> {
        loop {
            let batch = store.chunk_vectors(owner, self.last, BATCH).await?;
            let is_last = batch.len() < BATCH;
            for one in batch {
                let group = u32::try_from(self.documents.len()).unwrap_or(u32::MAX);
                let new = KnownDocument { group, vectors: 0 };
                let document = self.documents.entry(one.document).or_insert(new);
                document.vectors += 1;
                self.index.push(one.id, document.group, &one.vector);
                self.last = one.id;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Returns whether the index has vectors of removed chunks: those of a document that was
    /// removed and added again, or that of the last chunk.
    fn has_removed(&self, last: i64, documents: &[Document]) -> bool {
        let is_larger = |document: &Document| {
            let known = self.documents.get(&document.id);
            known.is_some_and(|known| known.vectors > document.chunks)
        };
        let ready = |document: &&Document| document.status == DocumentStatus::Ready;
        self.last > last || documents.iter().filter(ready).any(is_larger)
    }

    /// Returns for each group whether its document exists.
    fn visible(&self, is_there: impl Fn(&str) -> bool) -> Vec<bool> {
        let mut visible = vec![false; self.documents.len()];
        for (id, document) in &self.documents {
            if let Some(cell) = visible.get_mut(document.group as usize) {
                *cell = is_there(id);
            }
        }
        visible
    }
}
