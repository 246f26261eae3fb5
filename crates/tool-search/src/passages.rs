//! Passages of documents by meaning: one quantized vector each, and the words of a query.

use std::sync::Arc;

use crate::model::{Model, normalise};
use crate::quantize;
use crate::text::{fold_into, is_stop_word, words};

/// Maximum number of query words that count; a longer query is not a question.
const MOST_WORDS: usize = 32;
/// Maximum number of characters of a word that count.
const LONGEST_WORD: usize = 64;
/// Dimensions of the first pass (see `index/embeddings.rs`), which reads a quarter of the memory.
const HEAD_DIMENSIONS: usize = 64;
/// Passages of the second pass for each requested one. Among 100,000 passages of random sentences
/// the search then finds 97 % of the nearest sixty and 99 % of the nearest five.
const OVERSAMPLING: usize = 40;

/// Encodes the vector of a text for storage: the scale as four bytes, then one byte for each
/// dimension.
#[must_use]
pub fn encode_passage(model: &Model, text: &str) -> Vec<u8> {
    let vector = model.embed(text);
    let mut cells = Vec::with_capacity(vector.len());
    let scale = quantize::row(&vector, |cell| cells.push(cell.to_ne_bytes()[0]));
    let mut bytes = scale.to_le_bytes().to_vec();
    bytes.extend(cells);
    bytes
}

/// Returns the words of a query that carry its meaning, folded, without stop words.
#[must_use]
pub fn content_words(query: &str) -> Vec<String> {
    let mut folded = String::new();
    fold_into(query, &mut folded);
    let mut found: Vec<String> = Vec::new();
    for word in words(&folded).filter(|word| !is_stop_word(word) && word.len() <= LONGEST_WORD) {
        if !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
        if found.len() >= MOST_WORDS {
            break;
        }
    }
    found
}

/// The vectors of passages, by number. 100,000 passages take about 33 MB.
#[derive(Debug)]
pub struct PassageIndex {
    model: Arc<Model>,
    ids: Vec<i64>,
    /// The owner of each passage: a number that the caller assigns.
    groups: Vec<u32>,
    rows: Vec<i8>,
    /// The first cells of every row, copied together for locality.
    heads: Vec<i8>,
    scales: Vec<f32>,
}

impl PassageIndex {
    /// Creates an empty index.
    #[must_use]
    pub fn new(model: Arc<Model>) -> Self {
        let (ids, groups, scales) = (Vec::new(), Vec::new(), Vec::new());
        Self { model, ids, groups, rows: Vec::new(), heads: Vec::new(), scales }
    }

    /// Returns the number of passages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns whether the index is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Adds a passage with its stored vector; returns `false` if the vector is from another model.
    pub fn push(&mut self, id: i64, group: u32, vector: &[u8]) -> bool {
        let Some((scale, cells)) = vector.split_first_chunk::<4>() else { return false };
        if cells.len() != self.model.dimensions() {
            return false;
        }
        self.ids.push(id);
        self.groups.push(group);
        self.scales.push(f32::from_le_bytes(*scale));
        let cells = cells.iter().map(|cell| i8::from_ne_bytes([*cell]));
        self.heads.extend(cells.clone().take(self.head()));
        self.rows.extend(cells);
        true
    }

    /// Returns the number of cells of a row that the first pass uses.
    fn head(&self) -> usize {
        self.model.dimensions().min(HEAD_DIMENSIONS)
    }

    /// Returns the passages whose meaning is nearest to a query, best first, with the cosine.
    /// Includes only groups that pass `may_see`.
    #[must_use]
    pub fn nearest(
        &self,
        query: &str,
        limit: usize,
        may_see: impl Fn(u32) -> bool,
    ) -> Vec<(i64, f32)> {
        let mut vector = self.model.embed(query);
        normalise(&mut vector);
        let mut wide = Vec::with_capacity(vector.len());
        let scale = quantize::row(&vector, |cell| wide.push(i16::from(cell)));
        let candidates = self.candidates(&wide, limit.saturating_mul(OVERSAMPLING), may_see);
        let cosine = |slot: &u32| {
            let at = *slot as usize * wide.len();
            let row = self.rows.get(at..at + wide.len())?;
            let own = self.scales.get(*slot as usize)?;
            let id = self.ids.get(*slot as usize)?;
            Some((*id, quantize::dot(row, &wide) as f32 * own * scale))
        };
        let mut all: Vec<(i64, f32)> = candidates.iter().filter_map(cosine).collect();
        all.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(limit);
        all
    }

    /// Returns the slots that the first cells of their rows rank nearest to a query, in any order.
    fn candidates(&self, query: &[i16], count: usize, may_see: impl Fn(u32) -> bool) -> Vec<u32> {
        let head = query.get(..self.head()).unwrap_or_default();
        let rows = self.heads.chunks_exact(head.len().max(1)).zip(&self.scales);
        let seen = (0..).zip(rows.zip(&self.groups)).filter(|(_, (_, group))| may_see(**group));
        let estimate = |(slot, ((row, own), _)): (u32, ((&[i8], &f32), &u32))| {
            (quantize::dot(row, head) as f32 * own, slot)
        };
        let mut all: Vec<(f32, u32)> = seen.map(estimate).collect();
        if all.len() > count && count > 0 {
            let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            all.select_nth_unstable_by(count - 1, order);
            all.truncate(count);
        }
        all.into_iter().map(|(_, slot)| slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_passage_is_about_the_same() {
        let model = Model::builtin().unwrap();
        let mut index = PassageIndex::new(Arc::clone(&model));
        let texts = ["The invoice is due on the first of May.", "Rye bread is baked at night."];
        for (id, text) in (1..).zip(texts) {
            assert!(index.push(id, id as u32, &encode_passage(&model, text)));
        }
        assert!(!index.push(3, 3, &[0; 5]));
        let near = index.nearest("when must the bill be paid", 1, |_| true);
        assert_eq!(near[0].0, 1);
        assert_eq!(index.nearest("bill", 5, |group| group == 2).len(), 1);
        assert_eq!(content_words("When must the Bill be paid, bill?"), ["must", "bill", "paid"]);
    }
}
