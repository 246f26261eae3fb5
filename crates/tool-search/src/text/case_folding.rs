//! Case folding and accent removal, equal to BERT's uncased normalizer, with which the model was
//! trained.

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// Appends `text` in lowercase without accents and control characters; whitespace becomes spaces,
/// and ideographs are surrounded by spaces.
pub(crate) fn fold_into(text: &str, out: &mut String) {
    if text.is_ascii() {
        out.extend(text.chars().filter_map(fold_ascii));
        return;
    }
    for c in text.nfd() {
        if c.is_ascii() {
            out.extend(fold_ascii(c));
        } else if c.is_whitespace() {
            out.push(' ');
        } else if is_ideograph(c) {
            out.extend([' ', c, ' ']);
        } else if !is_dropped(c) {
            out.extend(c.to_lowercase());
        }
    }
}

fn fold_ascii(c: char) -> Option<char> {
    match c {
        '\t' | '\n' | '\r' => Some(' '),
        c if c.is_ascii_control() => None,
        c => Some(c.to_ascii_lowercase()),
    }
}

/// Accents and invisible characters.
fn is_dropped(c: char) -> bool {
    use GeneralCategory as G;
    c == '\u{fffd}'
        || matches!(
            c.general_category(),
            G::NonspacingMark
                | G::Control
                | G::Format
                | G::PrivateUse
                | G::Surrogate
                | G::Unassigned
        )
}

/// Returns whether a character is a separate word: Chinese is written without spaces (the ranges of
/// BERT's tokenizer).
pub(crate) fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x2_0000..=0x2_A6DF | 0x2_A700..=0x2_CEAF | 0xF900..=0xFAFF | 0x2_F800..=0x2_FA1F)
}

#[cfg(test)]
mod tests {
    use super::fold_into;

    #[test]
    fn case_accents_and_controls_go() {
        for (text, expected) in [
            ("Plain TEXT", "plain text"),
            ("a\tb\nc\u{0}d", "a b cd"),
            ("Éclair à la crème", "eclair a la creme"),
            ("天气 now", " 天  气  now"),
            ("ПРИВЕТ", "привет"),
            ("zero\u{200b}width", "zerowidth"),
            ("", ""),
        ] {
            let mut out = String::new();
            fold_into(text, &mut out);
            assert_eq!(out, expected, "{text}");
        }
    }
}
