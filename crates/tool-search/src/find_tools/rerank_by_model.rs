//! Reranking by a larger model: reorders the best tools of the index by embeddings of an
//! [`Embedder`].
//!
//! Only the tools that the index found are reranked, so a search costs one request with a bounded
//! number of texts, and the text of each tool is sent once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{Embedder, Entry, ToolError};

use crate::model::normalise;
use crate::tool_profile::ToolProfile;

/// Maximum number of reranked tools.
pub(super) const CANDIDATES: usize = 40;
/// Maximum number of cached vectors: ten thousand vectors of 1,536 dimensions take 60 MB.
const MAX_CACHED: usize = 10_000;
/// Maximum bytes of a text that is sent.
const TEXT_BYTES: usize = 2_000;
/// Share of the larger model in a score; the index contributes the rest.
const SHARE: f32 = 0.5;

/// A larger model with a cache of its vectors.
pub(super) struct Reranker {
    embedder: Arc<dyn Embedder>,
    /// Unit vectors by text.
    known: Mutex<HashMap<String, Arc<[f32]>>>,
}

impl Reranker {
    pub(super) fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, known: Mutex::default() }
    }

    /// Returns the scores of these tools for a query, including the share of the larger model, best
    /// first.
    pub(super) async fn rerank(
        &self,
        need: &str,
        found: Vec<(Entry, f32)>,
    ) -> Result<Vec<(Entry, f32)>, ToolError> {
        let texts: Vec<String> = found.iter().map(|(entry, _)| text_of(entry)).collect();
        let need = crate::text::truncate(need, TEXT_BYTES).to_owned();
        let mut missing: Vec<String> = vec![need];
        {
            let known = self.cache();
            missing.extend(texts.iter().filter(|text| !known.contains_key(*text)).cloned());
        }
        let made = self.embedder.embed(&missing).await?;
        let mut made = made.into_iter().map(unit);
        let Some(asked) = made.next() else { return Err(no_vectors(self.embedder.id())) };
        let mut known = self.cache();
        if known.len() + missing.len() > MAX_CACHED {
            known.clear();
        }
        known.extend(missing.into_iter().skip(1).zip(made));
        let mut scored: Vec<(Entry, f32)> = Vec::with_capacity(found.len());
        for ((entry, score), text) in found.into_iter().zip(&texts) {
            let like = known.get(text).map_or(0.0, |vector| cosine(&asked, vector));
            scored.push((entry, SHARE * like + (1.0 - SHARE) * score));
        }
        scored.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(scored)
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<[f32]>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the text of a tool for a model that embeds sentences.
fn text_of(entry: &Entry) -> String {
    let profile = ToolProfile::from(&**entry.spec());
    let mut text = format!(
        "{} {}: {}",
        crate::text::split(&profile.server),
        crate::text::split(&profile.name),
        profile.description
    );
    for example in &profile.examples {
        text.push_str("\nExample: ");
        text.push_str(example);
    }
    crate::text::truncate(text.trim(), TEXT_BYTES).to_owned()
}

fn unit(mut vector: Vec<f32>) -> Arc<[f32]> {
    normalise(&mut vector);
    vector.into()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn no_vectors(id: &str) -> ToolError {
    ToolError::execution("The model for finding tools gave no vectors.").with_detail(id.to_owned())
}
