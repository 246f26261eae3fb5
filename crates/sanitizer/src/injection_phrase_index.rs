//! Finds the words of [`super::injection_phrase_table`] in text, without a slow start.
//!
//! [`super::first_bytes_index`] rules out most places of a text; words are compared only at the
//! others. Building the index takes a fraction of a millisecond, once, at the first text.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::confusable_folding::Folder;
use super::first_bytes_index::{FirstBytesIndex, IndexedWord, STEP};
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
    beginnings: FirstBytesIndex,
    /// All words, by their first three bytes.
    all: FirstBytesIndex,
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
    /// Compares the spelling with the text at byte `at`; a blank in it matches any run of blanks.
    /// Returns the end of the word in the text, or the number of bytes of the spelling before the
    /// first difference.
    fn compare(&self, bytes: &[u8], at: usize) -> Result<usize, usize> {
        let mut end = at;
        for (compared, wanted) in self.folded.bytes().enumerate() {
            let Some(found) = bytes.get(end) else { return Err(compared) };
            end += 1;
            if wanted == b' ' {
                if !found.is_ascii_whitespace() {
                    return Err(compared);
                }
                while bytes.get(end).is_some_and(u8::is_ascii_whitespace) {
                    end += 1;
                }
            } else if found.to_ascii_lowercase() != wanted {
                return Err(compared);
            }
        }
        Ok(end)
    }

    /// Returns whether the words of the text begin and end where this word requires it.
    fn is_bounded(&self, text: &str, start: usize, end: usize) -> bool {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let starts = !self.at_start || !byte_scan::text_before(text, start).ends_with(is_word);
        starts && (!self.whole || !byte_scan::text_from(text, end).starts_with(is_word))
    }
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
            beginnings: FirstBytesIndex::new(4),
            all: FirstBytesIndex::new(3),
        };
        let mut folder = Folder::new();
        for words in WORDS {
            for word in words.words {
                let begins = !matches!(
                    words.class,
                    Class::Object | Class::WeakObject | Class::Near | Class::Broad
                );
                lexicon.add(&mut folder, word, words.class, words.spaced, begins);
            }
        }
        for (rule, pair) in PAIRS.iter().enumerate() {
            for (step, words) in [(Step::First, pair.first), (Step::Second, pair.second)] {
                for word in words {
                    let begins = step == pair.rarer;
                    lexicon.add(&mut folder, word, Class::Part(rule, step), true, begins);
                }
            }
        }
        let Self { entries, beginnings, all } = &mut lexicon;
        let spelling = |entry: usize| entries.get(entry).map_or("", |word| word.folded.as_str());
        beginnings.finish(spelling);
        all.finish(spelling);
        lexicon
    }

    fn add(&mut self, folder: &mut Folder, word: &str, class: Class, at_start: bool, begins: bool) {
        let stem = word.strip_suffix('|');
        let mut folded = String::new();
        folder.fold_into(stem.unwrap_or(word), &mut folded);
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

    /// Calls `each` with every word that begins at byte `at`, ordered by spelling, and with its
    /// end, until `each` returns true; returns whether it did.
    ///
    /// In ordinary text (`the`, `this`) a key has up to 20 words, and nearly all differ from the
    /// text at the same byte; the words that share this byte are not compared again.
    fn any_word_at(
        &self,
        candidates: &[IndexedWord],
        text: &str,
        at: usize,
        mut each: impl FnMut(usize, &Entry, usize) -> bool,
    ) -> bool {
        // The byte of the spelling at which the last compared word differs from the text.
        let mut differs = 0;
        for word in candidates {
            if word.shared > differs {
                continue;
            }
            let Some(entry) = self.entries.get(word.entry) else { continue };
            match entry.compare(text.as_bytes(), at) {
                Ok(end) => {
                    if entry.is_bounded(text, at, end) && each(word.entry, entry, end) {
                        return true;
                    }
                    differs = entry.folded.len();
                }
                Err(equal) => differs = equal,
            }
        }
        false
    }

    /// Calls `each` with the places at which an order may begin, ascending.
    pub(super) fn beginnings(&self, text: &str, mut each: impl FnMut(usize)) {
        let bytes = text.as_bytes();
        let mut judge = |at: usize| {
            let candidates = self.beginnings.candidates(bytes, at);
            if self.any_word_at(candidates, text, at, |_, _, _| true) {
                each(at);
            }
        };
        let mut at = 0;
        while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let mut places = self.beginnings.places_in(*eight);
            while places != 0 {
                judge(at + places.trailing_zeros() as usize);
                places &= places - 1;
            }
            at += STEP;
        }
        (at..bytes.len()).for_each(judge);
    }

    /// Returns all words in a squeezed text, ascending, and those at the same place in the order of
    /// the tables. Such a text ends in a blank.
    pub(super) fn hits(&self, text: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        let mut here = Vec::new();
        for at in 0..text.len() {
            let candidates = self.all.candidates(text.as_bytes(), at);
            if candidates.is_empty() {
                continue;
            }
            self.any_word_at(candidates, text, at, |index, word, end| {
                here.push((index, Hit { class: word.class, start: at, end }));
                false
            });
            here.sort_unstable_by_key(|(index, _)| *index);
            hits.extend(here.drain(..).map(|(_, hit)| hit));
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn the_tables_of_first_bytes_have_room() {
        let lexicon = PhraseIndex::get();
        assert!(lexicon.beginnings.has_room() && lexicon.all.has_room());
    }

    /// Returns the words at byte `at`, each compared by itself, in the order of the tables.
    fn one_by_one(index: &FirstBytesIndex, text: &str, at: usize) -> Vec<(usize, usize)> {
        let lexicon = PhraseIndex::get();
        let compared = index.candidates_one_by_one(text.as_bytes(), at).filter_map(|word| {
            let entry = lexicon.entries.get(word.entry)?;
            let end = entry.compare(text.as_bytes(), at).ok()?;
            entry.is_bounded(text, at, end).then_some((word.entry, end))
        });
        let mut found: Vec<(usize, usize)> = compared.collect();
        found.sort_unstable();
        found
    }

    /// Generates text of table words, some cut or with other blanks.
    fn words() -> impl Strategy<Value = String> {
        let entries = &PhraseIndex::get().entries;
        let spellings: Vec<&str> = entries.iter().map(|entry| entry.folded.as_str()).collect();
        let part = (proptest::sample::select(spellings), 0_usize..24, "[ \t\n\r\u{C}xé.]{0,2}")
            .prop_map(|(word, length, after)| match length {
                20.. => word.to_uppercase() + &after,
                18.. => word.replace(' ', " \n") + &after,
                16.. => word.replace(' ', "\r") + &after,
                14.. => word.to_owned() + &after,
                _ => format!("{}{after}", byte_scan::text_before(word, length)),
            });
        proptest::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn the_index_finds_what_each_word_finds(text in words()) {
            let lexicon = PhraseIndex::get();
            let mut beginnings = Vec::new();
            lexicon.beginnings(&text, |at| beginnings.push(at));
            let begins = |at: &usize| !one_by_one(&lexicon.beginnings, &text, *at).is_empty();
            prop_assert_eq!(beginnings, (0..text.len()).filter(begins).collect::<Vec<_>>());

            let hits = lexicon.hits(&text);
            let hits: Vec<_> = hits.iter().map(|hit| (hit.start, hit.end, hit.class)).collect();
            let class = |entry: usize| lexicon.entries.get(entry).map(|entry| entry.class);
            let mut expected = Vec::new();
            for at in 0..text.len() {
                for (entry, end) in one_by_one(&lexicon.all, &text, at) {
                    expected.extend(class(entry).map(|class| (at, end, class)));
                }
            }
            prop_assert_eq!(hits, expected);
        }
    }
}
