//! BM25 over weighted fields, with incremental updates.
//!
//! All counts are integers and every sum follows the order of the query's words, so that an index
//! after a thousand updates scores exactly like a new one.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::profile_fields;
use crate::text::{
    CachingStemmer, MOST_NEEDS, QueryParts, fold_into, is_compound, is_stop_word, runs, split_into,
    words,
};
use crate::tool_profile::ToolProfile;

/// Saturation of term frequency.
const K1: f32 = 1.2;
/// Influence of the profile's length.
const B: f32 = 0.75;
/// Weight of an unknown word in the coverage, as a share of the largest idf. A lower value would
/// let one accidental match win; a higher one would penalize every name and number in a query.
/// Measured: 0.85 is slightly better than 0.7 for queries of one sentence.
const UNKNOWN: f32 = 0.85;
/// Maximum number of query words.
const MOST_WORDS: usize = 256;
/// Maximum number of indexed words per profile.
const MOST_TERMS: usize = 2048;

/// One tool in a term's posting list.
#[derive(Clone, Copy)]
struct Posting {
    slot: u32,
    /// Weighted count, in halves.
    count: u32,
}

/// The term counts of one profile.
#[derive(Default)]
struct TermCounts {
    /// Terms with their weighted counts, in order of first occurrence.
    counts: Vec<(u32, u32)>,
    /// Position of each term in `counts`.
    places: HashMap<u32, usize, RandomState>,
    /// Weighted number of words, in halves.
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
pub(super) struct Bm25Index {
    stems: CachingStemmer,
    by_stem: HashMap<Box<str>, u32, RandomState>,
    terms: Vec<Term>,
    free: Vec<u32>,
    /// The terms of each slot.
    documents: Vec<Vec<u32>>,
    /// The distinct terms of the tool's name, by slot.
    names: Vec<Vec<u32>>,
    /// Weighted number of words of each slot, in halves.
    lengths: Vec<u32>,
    /// Sum of `lengths`.
    total: u64,
    /// Slots in use.
    count: u32,
}

/// A query word, with one bit for each need that contains it.
pub(super) struct QueryTerm {
    term: Option<u32>,
    idf: f32,
    needs: u32,
}

impl QueryTerm {
    /// Returns whether the word is in this need.
    fn is_in(&self, need: usize) -> bool {
        self.needs >> need & 1 == 1
    }
}

impl Bm25Index {
    /// Adds a profile to an empty slot.
    pub(super) fn add(&mut self, slot: u32, profile: &ToolProfile) {
        let (mut counted, mut name) = (TermCounts::default(), Vec::new());
        let (mut split, mut folded) = (String::new(), String::new());
        profile_fields::each(profile, |field| {
            split.clear();
            folded.clear();
            split_into(field.text, &mut split);
            fold_into(&split, &mut folded);
            words(&folded).for_each(|word| self.count(word, field.weight, &mut counted));
            for run in runs(field.text).filter(|_| field.prose) {
                if is_compound(run, &mut split) {
                    self.count(&run.to_lowercase(), field.weight, &mut counted);
                }
            }
            if field.is_name {
                // In the order of the words: the sum over them must not depend on term numbers.
                for word in words(&folded).filter(|word| !is_stop_word(word)) {
                    let new = self.term_of(word, false).filter(|term| !name.contains(term));
                    name.extend(new);
                }
            }
        });
        let TermCounts { counts, length, .. } = counted;
        for (term, count) in &counts {
            let postings = &mut self.terms[*term as usize].postings;
            let at = postings.partition_point(|p| p.slot < slot);
            postings.insert(at, Posting { slot, count: *count });
        }
        let at = slot as usize;
        if self.documents.len() <= at {
            self.documents.resize_with(at + 1, Vec::new);
            self.names.resize_with(at + 1, Vec::new);
            self.lengths.resize(at + 1, 0);
        }
        self.documents[at] = counts.into_iter().map(|(term, _)| term).collect();
        self.names[at] = name;
        self.lengths[at] = length;
        self.total += u64::from(length);
        self.count += 1;
    }

    /// Counts a folded word of a profile.
    fn count(&mut self, word: &str, weight: u32, counted: &mut TermCounts) {
        let full = counted.counts.len() >= MOST_TERMS;
        let Some(term) = self.term_of(word, !full) else { return };
        if full && !counted.places.contains_key(&term) {
            return;
        }
        counted.length += weight;
        let place = *counted.places.entry(term).or_insert(counted.counts.len());
        match counted.counts.get_mut(place) {
            Some((_, count)) => *count += weight,
            None => counted.counts.push((term, weight)),
        }
    }

    /// Removes the profile of a slot.
    pub(super) fn remove(&mut self, slot: u32) {
        let Some(terms) = self.documents.get_mut(slot as usize).map(std::mem::take) else { return };
        for id in terms {
            let term = &mut self.terms[id as usize];
            if let Ok(at) = term.postings.binary_search_by_key(&slot, |p| p.slot) {
                term.postings.remove(at);
            }
            // A term without tools is removed, so that a source that changes continually does not
            // grow the index.
            if term.postings.is_empty() {
                self.by_stem.remove(&term.stem);
                *term = Term::default();
                self.free.push(id);
            }
        }
        self.names[slot as usize].clear();
        self.total -= u64::from(std::mem::take(&mut self.lengths[slot as usize]));
        self.count -= 1;
    }

    /// Returns the term of a folded word; it is added only if `may_add`.
    fn term_of(&mut self, word: &str, may_add: bool) -> Option<u32> {
        let stem = self.stems.stem_cached(word);
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

    /// Returns the distinct words of a query in order, with the needs that contain them.
    pub(super) fn query(&self, parts: &QueryParts<'_>) -> Query {
        let mut query = Query { terms: Vec::new(), whole: 0.0, needs: vec![0.0; parts.needs] };
        let mut at: HashMap<Box<str>, usize, RandomState> = HashMap::default();
        let (mut split, mut folded) = (String::new(), String::new());
        for (part, need) in &parts.parts {
            for run in runs(part) {
                folded.clear();
                if is_compound(run, &mut split) && self.knows(&run.to_lowercase()) {
                    folded.push_str(&run.to_lowercase());
                } else {
                    split.clear();
                    split_into(run, &mut split);
                    fold_into(&split, &mut folded);
                }
                for word in words(&folded).filter(|word| !is_stop_word(word)) {
                    let stem = self.stems.stem(word);
                    let place = at.get(&*stem).copied().unwrap_or(query.terms.len());
                    if place == MOST_WORDS {
                        continue;
                    }
                    if place == query.terms.len() {
                        query.terms.push(self.query_term(&stem));
                        at.insert(stem.into(), place);
                    }
                    if let (Some(need), Some(term)) = (need, query.terms.get_mut(place)) {
                        term.needs |= 1 << need;
                    }
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

    /// Returns whether a tool contains this folded word.
    fn knows(&self, word: &str) -> bool {
        self.by_stem.contains_key(&*self.stems.stem(word))
    }

    fn query_term(&self, stem: &str) -> QueryTerm {
        let term = self.by_stem.get(stem).copied();
        let found = term.map_or(0, |term| self.terms[term as usize].postings.len());
        let idf = idf(self.count, found);
        QueryTerm { term, idf: if found == 0 { UNKNOWN * idf } else { idf }, needs: 0 }
    }

    /// Adds the query's score for each tool to `whole`, and for each need to `needs` (one run of
    /// slots per need).
    pub(super) fn score(&self, query: &Query, whole: &mut [f32], needs: &mut [f32]) {
        let slots = whole.len();
        let average = self.total as f32 / self.count.max(1) as f32;
        let (base, slope) = (K1 * (1.0 - B), K1 * B / average.max(f32::MIN_POSITIVE));
        for word in &query.terms {
            let Some(term) = word.term else { continue };
            let best = word.idf * (K1 + 1.0);
            for posting in &self.terms[term as usize].postings {
                let slot = posting.slot as usize;
                let length = self.lengths[slot] as f32;
                // Counts and lengths are in halves. The factor cancels in the ratio of lengths but
                // not in the count.
                let count = posting.count as f32 * 0.5;
                let gain = best * count / (count + base + slope * length);
                whole[slot] += gain;
                let mut bits = word.needs;
                while bits != 0 {
                    needs[bits.trailing_zeros() as usize * slots + slot] += gain;
                    bits &= bits - 1;
                }
            }
        }
    }

    /// Returns the share of a tool's name that the query contains, weighted by idf.
    pub(super) fn name_coverage(&self, query: &Query, slot: u32) -> NameCoverage {
        let (mut said, mut all) = (NameCoverage::default(), 0.0);
        for term in &self.names[slot as usize] {
            let idf = idf(self.count, self.terms[*term as usize].postings.len());
            all += idf;
            if let Some(word) = query.terms.iter().find(|word| word.term == Some(*term)) {
                said.whole += idf;
                for (need, sum) in said.needs.iter_mut().enumerate() {
                    *sum += if word.is_in(need) { idf } else { 0.0 };
                }
            }
        }
        if all > 0.0 {
            said.whole /= all;
            said.needs.iter_mut().for_each(|sum| *sum /= all);
        }
        said
    }
}

/// The share of a tool's name that a query contains, 0 to 1: as a whole, and for each need.
#[derive(Default)]
pub(super) struct NameCoverage {
    pub(super) whole: f32,
    pub(super) needs: [f32; MOST_NEEDS],
}

/// A query in terms of the index.
pub(super) struct Query {
    terms: Vec<QueryTerm>,
    /// The maximum score: that of a tool with exactly the query's words. The basis of coverage.
    pub(super) whole: f32,
    /// The same for each need.
    pub(super) needs: Vec<f32>,
}

/// Returns the inverse document frequency of a word.
fn idf(tools: u32, with: usize) -> f32 {
    let (tools, with) = (tools as f32, with as f32);
    (1.0 + (tools - with + 0.5) / (with + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_without_a_tool_are_forgotten() {
        let mut index = Bm25Index::default();
        let named = |name: &str| ToolProfile { name: name.to_owned(), ..ToolProfile::default() };
        index.add(0, &named("one_two"));
        for round in 0..100 {
            index.add(1, &named(&format!("two_word{round}x")));
            index.remove(1);
        }
        assert_eq!(index.by_stem.len(), 2);
        assert!(index.terms.len() <= 4, "ids are used again: {}", index.terms.len());
        index.remove(0);
        assert_eq!((index.by_stem.len(), index.total, index.count), (0, 0, 0));
    }

    #[test]
    fn coverage_is_at_most_all() {
        let mut index = Bm25Index::default();
        let text = "weather weather weather forecast";
        index.add(0, &ToolProfile { name: text.to_owned(), ..ToolProfile::default() });
        for query in ["weather forecast", "weather", "weather in Oslo", "the"] {
            let query = index.query(&QueryParts::split(query));
            let mut whole = [0.0];
            index.score(&query, &mut whole, &mut []);
            assert!(whole[0] <= query.whole, "{} of {}", whole[0], query.whole);
        }
    }
}
