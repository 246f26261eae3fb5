//! Passages of documents by meaning: one quantized vector each, and the words of a query.

use std::sync::Arc;

use crate::model::{Model, normalise};
use crate::quantize;
use crate::text::{fold_into, is_stop_word, words};

/// Words of a query that count; a longer query is no question.
const MOST_WORDS: usize = 32;
/// Characters of a word that count.
const LONGEST_WORD: usize = 64;

/// The vector of a text for storing: the scale as four bytes, then one byte for each dimension.
#[must_use]
pub fn encode_passage(model: &Model, text: &str) -> Vec<u8> {
    let vector = model.embed(text);
    let mut cells = Vec::with_capacity(vector.len());
    let scale = quantize::row(&vector, |cell| cells.push(cell.to_ne_bytes()[0]));
    let mut bytes = scale.to_le_bytes().to_vec();
    bytes.extend(cells);
    bytes
}

/// The words of a query that say what is looked for, folded, without stop words.
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

/// The vectors of passages, by number. 100,000 take about 26 MB.
#[derive(Debug)]
pub struct PassageIndex {
    model: Arc<Model>,
    ids: Vec<i64>,
    /// Whose passage it is: a number that the caller assigns.
    groups: Vec<u32>,
    rows: Vec<i8>,
    scales: Vec<f32>,
}

impl PassageIndex {
    /// An empty index.
    #[must_use]
    pub fn new(model: Arc<Model>) -> Self {
        let (ids, groups, rows, scales) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { model, ids, groups, rows, scales }
    }

    /// Number of passages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Adds a passage with its stored vector; `false` = the vector is of another model.
    pub fn push(&mut self, id: i64, group: u32, vector: &[u8]) -> bool {
        let Some((scale, cells)) = vector.split_first_chunk::<4>() else { return false };
        if cells.len() != self.model.dimensions() {
            return false;
        }
        self.ids.push(id);
        self.groups.push(group);
        self.scales.push(f32::from_le_bytes(*scale));
        self.rows.extend(cells.iter().map(|cell| i8::from_ne_bytes([*cell])));
        true
    }

    /// The passages whose meaning is nearest to a query, best first, with the cosine. Only groups
    /// that pass `may_see`.
    #[must_use]
    pub fn nearest(
        &self,
        query: &str,
        limit: usize,
        may_see: impl Fn(u32) -> bool,
    ) -> Vec<(i64, f32)> {
        let dimensions = self.model.dimensions().max(1);
        let mut vector = self.model.embed(query);
        normalise(&mut vector);
        let mut wide = Vec::with_capacity(vector.len());
        let scale = quantize::row(&vector, |cell| wide.push(i16::from(cell)));
        let rows = self.rows.chunks_exact(dimensions).zip(&self.scales);
        let known = rows.zip(self.ids.iter().zip(&self.groups));
        let mut all: Vec<(i64, f32)> = known
            .filter(|(_, (_, group))| may_see(**group))
            .map(|((row, own), (id, _))| (*id, quantize::dot(row, &wide) as f32 * own * scale))
            .collect();
        let order = |a: &(i64, f32), b: &(i64, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if all.len() > limit && limit > 0 {
            all.select_nth_unstable_by(limit - 1, order);
            all.truncate(limit);
        }
        all.sort_unstable_by(order);
        all
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
