//! Finds the words of [`super::injection_phrase_table`] in text, without a slow start.
//!
//! A bitmap rules out most places of a text with one lookup: it contains the hashed first bytes of
//! every word in the tables. Words are compared only at the other places. Building it takes a
//! fraction of a millisecond, once, at the first text.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::confusable_folding::fold_into;
use super::injection_phrase_pairs::PAIRS;
use super::injection_phrase_table::{Class, Step, WORDS};
use std::sync::OnceLock;

/// A table word found in a text.
#[derive(Clone, Copy)]
pub(super) struct Hit {
    pub(super) class: Class,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// All words of all tables.
pub(super) struct PhraseIndex {
    entries: Vec<Entry>,
    /// Words that begin orders, by their first four bytes.
    beginnings: Index,
    /// All words, by their first three bytes.
    all: Index,
}

struct Entry {
    class: Class,
    folded: String,
    /// Must begin at the start of a word.
    at_start: bool,
    /// Must end at the end of a word.
    whole: bool,
}

impl Entry {
    /// Returns the length of this word at byte `at`; a blank in it matches any run of blanks.
    fn matches(&self, text: &str, at: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut end = at;
        for wanted in self.folded.bytes() {
            let found = *bytes.get(end)?;
            end += 1;
            if wanted == b' ' {
                if !found.is_ascii_whitespace() {
                    return None;
                }
                while bytes.get(end).is_some_and(u8::is_ascii_whitespace) {
                    end += 1;
                }
            } else if found.to_ascii_lowercase() != wanted {
                return None;
            }
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let starts = !self.at_start || !byte_scan::text_before(text, at).ends_with(is_word);
        let ends = !self.whole || !byte_scan::text_from(text, end).starts_with(is_word);
        (starts && ends).then_some(end)
    }
}

/// Maps first bytes to words.
struct Index {
    /// The significant bytes of a key.
    mask: u32,
    bits: [u64; 1 << (HASH_BITS - 6)],
    /// Key and entry, sorted.
    words: Vec<(u32, usize)>,
}

/// Bits of a hash; the bitmap takes 8 KB.
const HASH_BITS: u32 = 16;

impl Index {
    fn new(mask: u32) -> Self {
        Self { mask, bits: [0; 1 << (HASH_BITS - 6)], words: Vec::new() }
    }

    fn add(&mut self, first: [u8; 4], entry: usize) {
        let key = self.key(first);
        let hash = hash(key);
        if let Some(bits) = self.bits.get_mut(hash >> 6) {
            *bits |= 1 << (hash & 63);
        }
        self.words.push((key, entry));
    }

    /// Returns the key; it is the same for upper and lower case.
    fn key(&self, first: [u8; 4]) -> u32 {
        (u32::from_le_bytes(first) | 0x2020_2020) & self.mask
    }

    /// Returns 1 if a word may have this key.
    #[inline(always)]
    fn bit(&self, key: u32) -> u64 {
        let hash = hash(key);
        self.bits.get(hash >> 6).map_or(0, |bits| bits >> (hash & 63) & 1)
    }

    /// Returns, in one bit each, whether words may begin at the first [`STEP`] of eight bytes, with
    /// one branch for all. Only for keys of four bytes.
    #[inline(always)]
    fn any_in(&self, eight: [u8; 8]) -> bool {
        let small = u64::from_le_bytes(eight) | 0x2020_2020_2020_2020;
        let bit = |shift: u32| self.bit((small >> shift) as u32);
        (bit(0) | bit(8) | bit(16) | bit(24) | bit(32)) != 0
    }

    /// Returns the entries that may begin with these bytes; usually none.
    fn candidates(&self, first: [u8; 4]) -> &[(u32, usize)] {
        let key = self.key(first);
        if self.bit(key) == 0 {
            return &[];
        }
        let start = self.words.partition_point(|(known, _)| *known < key);
        let rest = self.words.get(start..).unwrap_or(&[]);
        rest.get(..rest.partition_point(|(known, _)| *known == key)).unwrap_or(&[])
    }
}

/// Number of places checked together: a load of eight bytes contains five keys of four bytes.
const STEP: usize = 5;

/// Hashes a key with Fibonacci hashing: uses the upper bits of a product.
fn hash(key: u32) -> usize {
    (key.wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize
}

impl PhraseIndex {
    /// Returns the only index, built at first use.
    pub(super) fn get() -> &'static Self {
        static LEXICON: OnceLock<PhraseIndex> = OnceLock::new();
        LEXICON.get_or_init(Self::build)
    }

    fn build() -> Self {
        let mut lexicon = Self {
            entries: Vec::new(),
            beginnings: Index::new(0xFFFF_FFFF),
            all: Index::new(0x00FF_FFFF),
        };
        for words in WORDS {
            for word in words.words {
                let begins = !matches!(
                    words.class,
                    Class::Object | Class::WeakObject | Class::Near | Class::Broad
                );
                lexicon.add(word, words.class, words.spaced, begins);
            }
        }
        for (rule, pair) in PAIRS.iter().enumerate() {
            for (step, words) in [(Step::First, pair.first), (Step::Second, pair.second)] {
                for word in words {
                    lexicon.add(word, Class::Part(rule, step), true, step == pair.rarer);
                }
            }
        }
        lexicon.beginnings.words.sort_unstable();
        lexicon.all.words.sort_unstable();
        lexicon
    }

    fn add(&mut self, word: &str, class: Class, at_start: bool, begins: bool) {
        let stem = word.strip_suffix('|');
        let mut folded = String::new();
        fold_into(stem.unwrap_or(word), &mut folded);
        let entry = self.entries.len();
        let first = |at: usize| folded.as_bytes().get(at).copied().unwrap_or(b' ');
        let key = [first(0), first(1), first(2), first(3)];
        self.all.add(key, entry);
        if begins {
            // In raw text the blank may be a line break.
            for blank in [b' ', b'\n', b'\r', b'\t'] {
                let variant = key.map(|b| if b == b' ' { blank } else { b });
                if blank == b' ' || variant != key {
                    self.beginnings.add(variant, entry);
                }
            }
        }
        self.entries.push(Entry { class, folded, at_start, whole: stem.is_some() });
    }

    /// Calls `each` with the places at which an order may begin, ascending.
    pub(super) fn beginnings(&self, text: &str, mut each: impl FnMut(usize)) {
        let bytes = text.as_bytes();
        let mut judge = |at: usize| {
            let Some(first) = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) else {
                return;
            };
            let begins = |(_, entry): &(u32, usize)| {
                self.entries.get(*entry).is_some_and(|word| word.matches(text, at).is_some())
            };
            if self.beginnings.candidates(*first).iter().any(begins) {
                each(at);
            }
        };
        let mut at = 0;
        while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            if self.beginnings.any_in(*eight) {
                (at..at + STEP).for_each(&mut judge);
            }
            at += STEP;
        }
        (at..bytes.len()).for_each(judge);
    }

    /// Returns all words in a squeezed text, ascending. Such a text ends in a blank.
    pub(super) fn hits(&self, text: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (at, first) in text.as_bytes().array_windows::<4>().enumerate() {
            for (_, entry) in self.all.candidates(*first) {
                let Some(word) = self.entries.get(*entry) else { continue };
                if let Some(end) = word.matches(text, at) {
                    hits.push(Hit { class: word.class, start: at, end });
                }
            }
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_long_enough_for_their_keys() {
        for entry in &PhraseIndex::get().entries {
            let begins = !matches!(
                entry.class,
                Class::Object | Class::WeakObject | Class::Near | Class::Broad
            );
            let least = if begins { 4 } else { 3 };
            assert!(entry.folded.len() >= least, "{:?}", entry.folded);
        }
    }

    #[test]
    fn every_word_is_found_by_its_own_spelling() {
        let lexicon = PhraseIndex::get();
        for (index, entry) in lexicon.entries.iter().enumerate() {
            let text = format!(". {} ", entry.folded);
            let found = lexicon.hits(&text).iter().any(|hit| hit.class == entry.class);
            assert!(found, "{index}: {:?}", entry.folded);
        }
    }
}
