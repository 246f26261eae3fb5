//! A second look by a better model: the best tools of the index, put in order by vectors that somebody else makes.
//!
//! Only what the index found is looked at, so a search costs one request of a bounded number of texts, and what a tool says is sent once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::{Embedder, Entry, ToolError};

use crate::model::normalise;
use crate::profile::Profile;

/// Tools that are looked at, at most.
pub(super) const LOOKED_AT: usize = 40;
/// Vectors that are remembered: those of ten thousand tools of 1,536 numbers take 60 MB.
const MOST: usize = 10_000;
/// Bytes of a text that is sent.
const TEXT_BYTES: usize = 2_000;
/// Share of the better model in a score; the index has the rest.
const SHARE: f32 = 0.5;

/// A better model, with the vectors that it has made.
pub(super) struct Meaning {
    embedder: Arc<dyn Embedder>,
    /// Unit vectors by text.
    known: Mutex<HashMap<String, Arc<[f32]>>>,
}

impl Meaning {
    pub(super) fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, known: Mutex::default() }
    }

    /// The scores of these tools for a need, with the better model's share in them, best first.
    pub(super) async fn look(
        &self,
        need: &str,
        found: Vec<(Entry, f32)>,
    ) -> Result<Vec<(Entry, f32)>, ToolError> {
        let texts: Vec<String> = found.iter().map(|(entry, _)| text_of(entry)).collect();
        let need = crate::text::cut(need, TEXT_BYTES).to_owned();
        let mut missing: Vec<String> = vec![need];
        {
            let known = self.known();
            missing.extend(texts.iter().filter(|text| !known.contains_key(*text)).cloned());
        }
        let made = self.embedder.embed(&missing).await?;
        let mut made = made.into_iter().map(unit);
        let Some(asked) = made.next() else { return Err(no_vectors(self.embedder.id())) };
        let mut known = self.known();
        if known.len() + missing.len() > MOST {
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

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<[f32]>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a tool says of itself, as a model of whole sentences reads it best.
fn text_of(entry: &Entry) -> String {
    let profile = Profile::from(&**entry.spec());
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
    crate::text::cut(text.trim(), TEXT_BYTES).to_owned()
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
