//! Escapes text for columns: Postgres text cannot contain the NUL character.

use std::borrow::Cow;

/// The escape character.
const ESCAPE: char = '\u{1}';

/// Escapes text for a column. Different texts remain different.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => escaped.extend([ESCAPE, '0']),
            ESCAPE => escaped.extend([ESCAPE, '1']),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

/// Restores the original text.
pub(super) fn unescape(column: &str) -> String {
    let mut text = String::with_capacity(column.len());
    let mut characters = column.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            ESCAPE if characters.next() == Some('0') => '\0',
            other => other,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn every_text_comes_back(text in "[\u{0}\u{1}01a\u{e9}]{0,12}") {
            let kept = escape(&text);
            prop_assert!(!kept.contains('\0'));
            prop_assert_eq!(unescape(&kept), text);
        }
    }
}
