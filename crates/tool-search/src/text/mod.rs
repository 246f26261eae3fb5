//! Text normalization: truncating, splitting identifiers, folding, tokenizing and stemming.

mod case_folding;
mod compound_words;
mod split_identifiers;
mod split_query;
mod stemmer;
mod tokenize;

pub(crate) use case_folding::{fold_into, is_ideograph};
pub(crate) use compound_words::{is_compound, runs};
pub(crate) use split_identifiers::{split, split_into};
pub(crate) use split_query::{MAX_NEEDS as MOST_NEEDS, QueryParts};
pub(crate) use stemmer::CachingStemmer;
pub(crate) use tokenize::{is_stop_word, words};

/// Returns the first `bytes` bytes of a text, ending at a character boundary.
pub(crate) fn truncate(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::truncate;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(truncate("plain", 99), "plain");
        assert_eq!(truncate("plain", 2), "pl");
        assert_eq!(truncate("größe", 3), "gr");
        assert_eq!(truncate("größe", 4), "grö");
        assert_eq!(truncate("€", 2), "");
    }
}
