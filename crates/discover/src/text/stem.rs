//! Stems: "forecasts", "forecasting" and "forecast" are one word.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use rust_stemmers::{Algorithm, Stemmer};

use super::cut;

/// Stems that are remembered. English text of ten thousand tools has about twenty thousand words; beyond this the table starts anew.
const REMEMBERED: usize = 32_768;
/// Bytes of a word that count: longer ones are keys, hashes and attacks.
const LONGEST: usize = 48;

/// The English stemmer (Snowball's Porter 2), with a memory.
pub(crate) struct Stems {
    stemmer: Stemmer,
    known: HashMap<Box<str>, Box<str>, RandomState>,
}

impl Default for Stems {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), known: HashMap::default() }
    }
}

impl Stems {
    /// The stem of a folded word.
    pub(crate) fn of<'a>(&'a self, word: &'a str) -> Cow<'a, str> {
        let word = cut(word, LONGEST);
        match self.known.get(word) {
            Some(stem) => Cow::Borrowed(stem),
            None => self.stemmer.stem(word),
        }
    }

    /// The same, remembered: a list of tools has the same words again and again.
    pub(crate) fn remember<'a>(&'a mut self, word: &'a str) -> &'a str {
        let word = cut(word, LONGEST);
        if self.known.len() >= REMEMBERED {
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
    use super::Stems;

    #[test]
    fn forms_of_a_word_are_one() {
        let mut stems = Stems::default();
        for word in ["forecast", "forecasts", "forecasting", "forecasted"] {
            assert_eq!(stems.of(word), "forecast");
            assert_eq!(stems.remember(word), "forecast");
            assert_eq!(stems.of(word), "forecast");
        }
    }

    #[test]
    fn words_of_a_hostile_length_are_cut() {
        let mut stems = Stems::default();
        let long = "é".repeat(100_000);
        assert!(stems.of(&long).len() <= super::LONGEST);
        assert!(stems.remember(&long).len() <= super::LONGEST);
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut stems = Stems::default();
        for i in 0..super::REMEMBERED + 10 {
            stems.remember(&format!("word{i}"));
        }
        assert!(stems.known.len() <= super::REMEMBERED);
    }
}
