//! Stemming: "forecasts", "forecasting" and "forecast" become one term.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use rust_stemmers::{Algorithm, Stemmer};

use super::truncate;

/// Maximum number of cached stems. English texts of ten thousand tools have about twenty thousand
/// words; a full cache is cleared.
const CACHE_SIZE: usize = 32_768;
/// Maximum bytes of a word; longer ones are keys, hashes and attacks.
const LONGEST: usize = 48;

/// The English stemmer (Snowball's Porter 2) with a cache.
pub(crate) struct CachingStemmer {
    stemmer: Stemmer,
    known: HashMap<Box<str>, Box<str>, RandomState>,
}

impl Default for CachingStemmer {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), known: HashMap::default() }
    }
}

impl CachingStemmer {
    /// Returns the stem of a folded word.
    pub(crate) fn stem<'a>(&'a self, word: &'a str) -> Cow<'a, str> {
        let word = truncate(word, LONGEST);
        match self.known.get(word) {
            Some(stem) => Cow::Borrowed(stem),
            None => self.stemmer.stem(word),
        }
    }

    /// Returns the cached stem of a folded word: tool lists repeat the same words often.
    pub(crate) fn stem_cached<'a>(&'a mut self, word: &'a str) -> &'a str {
        let word = truncate(word, LONGEST);
        if self.known.len() >= CACHE_SIZE {
            self.known.clear();
        }
        if !self.known.contains_key(word) {
            let stem = self.stemmer.stem(word).into();
            self.known.insert(word.into(), stem);
        }
        self.known.get(word).map_or(word, |stem| stem)
    }
}

#[cfg(test)]
mod tests {
    use super::CachingStemmer;

    #[test]
    fn forms_of_a_word_are_one() {
        let mut stems = CachingStemmer::default();
        for word in ["forecast", "forecasts", "forecasting", "forecasted"] {
            assert_eq!(stems.stem(word), "forecast");
            assert_eq!(stems.stem_cached(word), "forecast");
            assert_eq!(stems.stem(word), "forecast");
        }
    }

    #[test]
    fn words_of_a_hostile_length_are_cut() {
        let mut stems = CachingStemmer::default();
        let long = "é".repeat(100_000);
        assert!(stems.stem(&long).len() <= super::LONGEST);
        assert!(stems.stem_cached(&long).len() <= super::LONGEST);
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut stems = CachingStemmer::default();
        for i in 0..super::CACHE_SIZE + 10 {
            stems.stem_cached(&format!("word{i}"));
        }
        assert!(stems.known.len() <= super::CACHE_SIZE);
    }
}
