//! WordPiece vocabulary: BERT's greedy longest match, without other tokenizer features.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// The parts of `tokenizer.json` that are used.
#[derive(Deserialize)]
struct File {
    model: Pieces,
}

#[derive(Deserialize)]
struct Pieces {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    unk_token: Option<String>,
    #[serde(default = "hashes")]
    continuing_subword_prefix: String,
    #[serde(default = "hundred")]
    max_input_chars_per_word: usize,
    vocab: Entries,
}

/// The vocabulary as a list, because building a map only to consume it would cost as much as the
/// rest of loading.
struct Entries(Vec<(Box<str>, u32)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a vocabulary")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::with_capacity(32_768);
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        from.deserialize_map(List)
    }
}

/// Returns the prefix of pieces inside a word, in every BERT model.
fn hashes() -> String {
    "##".to_owned()
}

/// BERT's maximum word length.
fn hundred() -> usize {
    100
}

/// Pieces by text.
pub(super) struct Vocabulary {
    starts: HashMap<Box<str>, u32, RandomState>,
    insides: HashMap<Box<str>, u32, RandomState>,
    /// Maximum characters of a word that is tokenized.
    longest_word: usize,
    /// Bytes of the longest piece; longer texts need no lookup.
    longest_piece: usize,
}

impl Vocabulary {
    /// Parses `tokenizer.json` for a table with this number of rows.
    pub(super) fn read(json: &[u8], rows: usize) -> Result<Self, String> {
        let file: File = serde_json::from_slice(json).map_err(|e| e.to_string())?;
        let model = file.model;
        if model.kind != "WordPiece" {
            return Err(format!("its model is {}; only WordPiece can be read", model.kind));
        }
        let vocab = model.vocab.0;
        let count = vocab.len();
        let mut made = Self {
            starts: HashMap::with_capacity_and_hasher(count, RandomState::default()),
            insides: HashMap::with_capacity_and_hasher(count / 4, RandomState::default()),
            longest_word: model.max_input_chars_per_word,
            longest_piece: 0,
        };
        let prefix = model.continuing_subword_prefix;
        for (piece, token) in vocab {
            if token as usize >= rows {
                return Err(format!("token {token} has no row in the table"));
            }
            if model.unk_token.as_deref() == Some(&piece) {
                continue;
            }
            made.longest_piece = made.longest_piece.max(piece.len());
            match piece.strip_prefix(prefix.as_str()).filter(|inside| !inside.is_empty()) {
                Some(inside) => made.insides.insert(inside.into(), token),
                None => made.starts.insert(piece, token),
            };
        }
        Ok(made)
    }

    /// Passes every token of a folded text to `give`, in order; words that cannot be composed of
    /// pieces are skipped.
    pub(super) fn each_token(&self, folded: &str, mut give: impl FnMut(u32)) {
        let mut tokens = Vec::with_capacity(16);
        for chunk in folded.split(char::is_whitespace) {
            // Each punctuation character is a separate word.
            for word in chunk.split_inclusive(is_punctuation) {
                let tail = word.chars().next_back().filter(|c| is_punctuation(*c));
                let body = word.len() - tail.map_or(0, char::len_utf8);
                let (body, mark) = word.split_at(body);
                for part in [body, mark] {
                    tokens.clear();
                    if !part.is_empty() && self.pieces(part, &mut tokens) {
                        tokens.iter().copied().for_each(&mut give);
                    }
                }
            }
        }
    }

    /// Appends the pieces of one word to `tokens`; returns `false` if a part of it is not a piece.
    fn pieces(&self, word: &str, tokens: &mut Vec<u32>) -> bool {
        // By far the most common case: the whole word is in the vocabulary.
        if let Some(token) = self.starts.get(word) {
            tokens.push(*token);
            return true;
        }
        if word.chars().count() > self.longest_word {
            return false;
        }
        let mut rest = word;
        while !rest.is_empty() {
            let table = if tokens.is_empty() { &self.starts } else { &self.insides };
            let Some((length, token)) = self.longest(rest, table) else { return false };
            tokens.push(token);
            rest = rest.get(length..).unwrap_or_default();
        }
        true
    }

    /// Returns the longest piece that is a prefix of `text`.
    fn longest(
        &self,
        text: &str,
        table: &HashMap<Box<str>, u32, RandomState>,
    ) -> Option<(usize, u32)> {
        let longest = text.len().min(self.longest_piece);
        (1..=longest)
            .rev()
            .filter_map(|length| Some((length, text.get(..length)?)))
            .find_map(|(length, piece)| Some((length, *table.get(piece)?)))
    }
}

/// Returns whether the character is punctuation as defined by BERT: every ASCII character that is
/// not a letter or digit, and Unicode punctuation.
fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}
