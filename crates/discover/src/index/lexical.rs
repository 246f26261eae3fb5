//! Words to tools: BM25 over weighted fields, changed one tool at a time.
//!
//! All counts are integers and every sum is taken in the order of the query's words, so an index that has been changed a thousand times
//! scores exactly like one that was built anew.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::field;
use crate::profile::Profile;
use crate::text::{Stems, fold_into, is_empty_word, split_into, words};

/// Saturation of a word's count.
const K1: f32 = 1.2;
/// How much the length of a profile counts.
const B: f32 = 0.75;
/// What a word that no tool has counts in the coverage, as a share of the largest idf: less would let one accidental word win, more would
/// punish every name and number of the query (issue 8 has 0.7; 0.85 is a little better for one-sentence queries).
const UNKNOWN: f32 = 0.85;
/// Words of a query that are looked at.
const MOST_WORDS: usize = 256;
/// Words of a profile that are indexed.
const MOST_TERMS: usize = 2048;

/// One tool in the list of a term.
#[derive(Clone, Copy)]
struct Posting {
    slot: u32,
    /// Weighted count, in halves.
    count: u32,
}

/// What one tool has put into the index.
#[derive(Default)]
struct Document {
    terms: Vec<u32>,
    /// Weighted words, in halves.
    length: u32,
}

#[derive(Default)]
struct Term {
    stem: Box<str>,
    /// By slot.
    postings: Vec<Posting>,
}

/// The inverted index.
#[derive(Default)]
pub(super) struct Lexical {
    stems: Stems,
    by_stem: HashMap<Box<str>, u32, RandomState>,
    terms: Vec<Term>,
    free: Vec<u32>,
    documents: Vec<Document>,
    lengths: u64,
    count: u32,
}

/// A word of a query and the needs it occurs in, one bit each.
pub(super) struct QueryTerm {
    term: Option<u32>,
    idf: f32,
    needs: u32,
}

impl QueryTerm {
    /// Whether the word is in this need.
    fn is_in(&self, need: usize) -> bool {
        self.needs >> need & 1 == 1
    }
}

impl Lexical {
    /// Adds a profile in a slot that is empty.
    pub(super) fn add(&mut self, slot: u32, profile: &Profile) {
        let mut counts: Vec<(u32, u32)> = Vec::new();
        let mut seen: HashMap<u32, usize, RandomState> = HashMap::default();
        let (mut split, mut folded, mut length) = (String::new(), String::new(), 0u32);
        field::each(profile, |text, weight| {
            split.clear();
            folded.clear();
            split_into(text, &mut split);
            fold_into(&split, &mut folded);
            for word in words(&folded) {
                let full = counts.len() >= MOST_TERMS;
                let Some(term) = self.term_of(word, !full) else { continue };
                if full && !seen.contains_key(&term) {
                    continue;
                }
                length += weight;
                let at = *seen.entry(term).or_insert_with(|| {
                    counts.push((term, 0));
                    counts.len() - 1
                });
                if let Some((_, count)) = counts.get_mut(at) {
                    *count += weight;
                }
            }
        });
        for (term, count) in &counts {
            let postings = &mut self.terms[*term as usize].postings;
            let at = postings.partition_point(|p| p.slot < slot);
            postings.insert(at, Posting { slot, count: *count });
        }
        let at = slot as usize;
        if self.documents.len() <= at {
            self.documents.resize_with(at + 1, Document::default);
        }
        self.documents[at] =
            Document { terms: counts.into_iter().map(|(term, _)| term).collect(), length };
        self.lengths += u64::from(length);
        self.count += 1;
    }

    /// Takes a profile out of its slot.
    pub(super) fn remove(&mut self, slot: u32) {
        let Some(document) = self.documents.get_mut(slot as usize).map(std::mem::take) else {
            return;
        };
        for id in document.terms {
            let term = &mut self.terms[id as usize];
            if let Ok(at) = term.postings.binary_search_by_key(&slot, |p| p.slot) {
                term.postings.remove(at);
            }
            // A word that nobody has any more is forgotten, so that a source that changes for ever does not fill the memory.
            if term.postings.is_empty() {
                self.by_stem.remove(&term.stem);
                *term = Term::default();
                self.free.push(id);
            }
        }
        self.lengths -= u64::from(document.length);
        self.count -= 1;
    }

    /// The term of a folded word; a new one only where `may_add`.
    fn term_of(&mut self, word: &str, may_add: bool) -> Option<u32> {
        let stem = self.stems.remember(word);
        if let Some(term) = self.by_stem.get(stem) {
            return Some(*term);
        }
        if !may_add {
            return None;
        }
        let made = Term { stem: stem.into(), postings: Vec::new() };
        let id = match self.free.pop() {
            Some(id) => {
                self.terms[id as usize] = made;
                id
            }
            None => {
                self.terms.push(made);
                u32::try_from(self.terms.len() - 1).ok()?
            }
        };
        self.by_stem.insert(stem.into(), id);
        Some(id)
    }

    /// The words of the needs of a query, each once, in order.
    pub(super) fn query(&self, whole: &str, needs: &[&str]) -> Query {
        let mut query = Query { terms: Vec::new(), whole: 0.0, needs: vec![0.0; needs.len()] };
        let mut at: HashMap<Box<str>, usize, RandomState> = HashMap::default();
        let mut text = String::new();
        // The whole query first, for its order; then which of its words are in which need.
        for (need, part) in std::iter::once((None, whole)).chain(needs.iter().enumerate().map(|(n, p)| (Some(n), *p))) {
            let mut split = String::new();
            split_into(part, &mut split);
            text.clear();
            fold_into(&split, &mut text);
            for word in words(&text).filter(|word| !is_empty_word(word)).take(MOST_WORDS) {
                let stem = self.stems.of(word);
                let index = match (at.get(&*stem), need) {
                    (Some(index), _) => *index,
                    (None, Some(_)) => continue,
                    (None, None) => {
                        query.terms.push(self.query_term(&stem));
                        at.insert(stem.into(), query.terms.len() - 1);
                        query.terms.len() - 1
                    }
                };
                if let (Some(need), Some(term)) = (need, query.terms.get_mut(index)) {
                    term.needs |= 1 << need;
                }
            }
        }
        for term in &query.terms {
            let best = term.idf * (K1 + 1.0);
            query.whole += best;
            for (need, sum) in query.needs.iter_mut().enumerate() {
                if term.is_in(need) {
                    *sum += best;
                }
            }
        }
        query
    }

    fn query_term(&self, stem: &str) -> QueryTerm {
        let term = self.by_stem.get(stem).copied();
        let found = term.map_or(0, |term| self.terms[term as usize].postings.len());
        let idf = idf(self.count, found);
        QueryTerm { term, idf: if found == 0 { UNKNOWN * idf } else { idf }, needs: 0 }
    }

    /// Adds what every tool has of the query to `whole` and, need by need, to `needs` (one stretch of slots after the other).
    pub(super) fn score(&self, query: &Query, whole: &mut [f32], needs: &mut [f32]) {
        let slots = whole.len();
        let average = self.lengths as f32 / self.count.max(1) as f32;
        let (base, slope) = (K1 * (1.0 - B), K1 * B / average.max(f32::MIN_POSITIVE));
        for word in &query.terms {
            let Some(term) = word.term else { continue };
            let best = word.idf * (K1 + 1.0);
            for posting in &self.terms[term as usize].postings {
                let slot = posting.slot as usize;
                let length = self.documents[slot].length as f32;
                // Counts and lengths are in halves; the ratio of lengths does not mind, the count does.
                let count = posting.count as f32 * 0.5;
                let gain = best * count / (count + base + slope * length);
                whole[slot] += gain;
                for need in 0..query.needs.len() {
                    if word.is_in(need) {
                        needs[need * slots + slot] += gain;
                    }
                }
            }
        }
    }

    /// Terms that are in use; for tests.
    #[cfg(test)]
    pub(super) fn terms(&self) -> usize {
        self.by_stem.len()
    }
}

/// A query in the words of the index.
pub(super) struct Query {
    terms: Vec<QueryTerm>,
    /// What a tool would score that has nothing but the query's words: the measure of coverage.
    pub(super) whole: f32,
    /// The same for each need.
    pub(super) needs: Vec<f32>,
}

/// How much a word tells, by how many of the tools have it.
fn idf(tools: u32, with: usize) -> f32 {
    let (tools, with) = (tools as f32, with as f32);
    (1.0 + (tools - with + 0.5) / (with + 0.5)).ln()
}
