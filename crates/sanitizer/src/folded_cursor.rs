//! Reads text as the matcher of control tokens compares it: full-width forms count as ASCII, and
//! preserved hidden characters (a soft hyphen in a word) are skipped.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::invisible_chars::is_invisible;
use std::borrow::Cow;

/// Reads folded characters forward.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a str,
    /// Whether backslashes before punctuation are skipped.
    escapes: bool,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the beginning of a text.
    pub(super) fn new(text: &'a str, escapes: bool) -> Self {
        Self { rest: text, escapes }
    }

    /// Returns the text from the cursor on, unfolded.
    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    /// Returns the next relevant character.
    pub(super) fn peek(&self) -> Option<char> {
        self.folded().map(|(c, _)| c)
    }

    /// Returns the next relevant character, and the text after it.
    #[inline]
    fn folded(&self) -> Option<(char, &'a str)> {
        match self.rest.as_bytes().first() {
            Some(&byte) if self.is_itself(byte) => {
                Some((char::from(byte), byte_scan::text_from(self.rest, 1)))
            }
            _ => self.folded_char(),
        }
    }

    /// Returns whether folding leaves a byte unchanged: only backslashes of a converter and
    /// characters that are not ASCII are changed or skipped.
    fn is_itself(&self, byte: u8) -> bool {
        byte.is_ascii() && !(self.escapes && byte == b'\\')
    }

    fn folded_char(&self) -> Option<(char, &'a str)> {
        let mut chars = self.rest.chars();
        let mut c = chars.find(|&c| !is_invisible(c))?;
        if self.escapes
            && c == '\\'
            && chars.as_str().starts_with(|c: char| c.is_ascii_punctuation())
        {
            c = chars.next()?;
        }
        let folded = match c {
            '\u{FF01}'..='\u{FF5E}' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
            '\u{2581}' => '_',
            '\u{A0}' | '\u{3000}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' => ' ',
            c => c,
        };
        Some((folded, chars.as_str()))
    }

    /// Consumes the next relevant character.
    pub(super) fn bump(&mut self) -> Option<char> {
        let (c, rest) = self.folded()?;
        self.rest = rest;
        Some(c)
    }

    /// Consumes the next relevant character if it is this one; returns whether it was.
    pub(super) fn eat(&mut self, wanted: char) -> bool {
        match self.folded() {
            Some((c, rest)) if c == wanted => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Skips blanks; returns whether there were any.
    pub(super) fn skip_blanks(&mut self) -> bool {
        let mut any = false;
        while let Some((' ' | '\t', rest)) = self.folded() {
            self.rest = rest;
            any = true;
        }
        any
    }

    /// Consumes up to `most` characters that pass the test. Borrowed if all of them are unfolded.
    pub(super) fn take(&mut self, test: impl Fn(char) -> bool, most: usize) -> Cow<'a, str> {
        let passes = |byte: &u8| self.is_itself(*byte) && test(char::from(*byte));
        let plain = self.rest.bytes().take(most).take_while(|byte| passes(byte)).count();
        let ends = plain == most
            || self.rest.as_bytes().get(plain).is_none_or(|byte| self.is_itself(*byte));
        if !ends {
            return Cow::Owned(self.take_folded(test, most));
        }
        let taken = byte_scan::text_before(self.rest, plain);
        self.rest = byte_scan::text_from(self.rest, plain);
        Cow::Borrowed(taken)
    }

    fn take_folded(&mut self, test: impl Fn(char) -> bool, most: usize) -> String {
        let mut taken = String::new();
        for _ in 0..most {
            match self.folded() {
                Some((c, rest)) if test(c) => {
                    taken.push(c);
                    self.rest = rest;
                }
                _ => break,
            }
        }
        taken
    }

    /// Returns the position of the cursor, counted from the beginning of `text`; skips hidden
    /// characters before the next relevant one.
    pub(super) fn position(&self, text: &str) -> usize {
        let ahead = self.rest.trim_start_matches(is_invisible);
        text.len() - ahead.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Takes a name by folding each of its characters.
    fn take_one_by_one(
        cursor: &mut Cursor<'_>,
        test: impl Fn(char) -> bool,
        most: usize,
    ) -> String {
        let mut taken = String::new();
        while let Some((c, rest)) = cursor.folded_char().filter(|(c, _)| test(*c)) {
            if taken.chars().count() == most {
                break;
            }
            taken.push(c);
            cursor.rest = rest;
        }
        taken
    }

    proptest! {
        #[test]
        fn a_name_is_taken_as_its_folded_characters(
            text in "[a-cA_ \\\\<ａＢ＿▁\u{AD}\u{200B}é-]{0,12}",
            escapes: bool,
            most in 0_usize..8,
        ) {
            let test = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\\');
            let (mut quick, mut slow) = (Cursor::new(&text, escapes), Cursor::new(&text, escapes));
            let expected = take_one_by_one(&mut slow, test, most);
            prop_assert_eq!(quick.take(test, most), expected);
            prop_assert_eq!(quick.rest, slow.rest);
            prop_assert_eq!(quick.peek(), slow.folded_char().map(|(c, _)| c));
        }
    }
}
