//! What is done to words before anything is counted: cut, split, folded, stemmed.

mod compound;
mod fold;
mod needs;
mod split;
mod stem;
mod words;

pub(crate) use compound::{is_compound, runs};
pub(crate) use fold::{fold_into, is_ideograph};
pub(crate) use needs::{MOST as MOST_NEEDS, Parts};
pub(crate) use split::{split, split_into};
pub(crate) use stem::Stems;
pub(crate) use words::{is_empty_word, words};

/// The beginning of a text: at most `bytes` of it, cut between two characters.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
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
    use super::cut;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("plain", 99), "plain");
        assert_eq!(cut("plain", 2), "pl");
        assert_eq!(cut("größe", 3), "gr");
        assert_eq!(cut("größe", 4), "grö");
        assert_eq!(cut("€", 2), "");
    }
}
