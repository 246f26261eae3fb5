//! Strings: escapes, quotes of either kind, and backslashes that were meant as such.
#![deny(clippy::indexing_slicing)]

use super::argument_error::ArgumentError;
use super::changes::ChangeKind;
use super::parser::{CUT, Parser};
use super::value_preview::shorten;

const BACKSLASH: &str =
    "Write every backslash in a string as two backslashes (\\\\), and a line break as \\n.";

impl<'t> Parser<'t, '_> {
    /// Reads a string that opens with `quote` at the position.
    pub(super) fn string(&mut self, quote: u8) -> Result<String, ArgumentError> {
        let start = self.pos;
        self.pos += 1;
        let mut part = self.plain(quote);
        if quote == b'"' && self.peek() == Some(b'"') {
            self.pos += 1;
            return Ok(part.to_owned());
        }
        let mut text = String::new();
        let mut notes = StringNotes::default();
        loop {
            text.push_str(part);
            match self.peek() {
                None => {
                    return Err(ArgumentError::new(
                        self.pos,
                        "the end of the text inside a string",
                        CUT,
                    ));
                }
                Some(b) if b == quote => break,
                Some(b'\\') => self.escape(quote, &mut text, &mut notes)?,
                Some(control) => {
                    notes.control = true;
                    text.push(char::from(control));
                    self.pos += 1;
                }
            }
            part = self.plain(quote);
        }
        self.pos += 1;
        self.finish_string(quote, start, notes)?;
        Ok(text)
    }

    fn finish_string(
        &mut self,
        quote: u8,
        start: usize,
        notes: StringNotes,
    ) -> Result<(), ArgumentError> {
        if let Some((at, escaped)) = notes.invalid {
            if notes.meaningful {
                return Err(ArgumentError::new(
                    at,
                    format!(
                        "the escape \\{escaped} in a string that has other backslashes, so that they can be read in two ways"
                    ),
                    BACKSLASH,
                ));
            }
            self.report(ChangeKind::InvalidEscape, || {
                format!("\\{escaped} is no JSON escape; its backslash was kept as a backslash")
            });
        }
        if quote == b'\'' {
            let found =
                shorten(self.text.get(start..self.pos).unwrap_or_default(), 40).into_owned();
            self.report(ChangeKind::SingleQuotes, || format!("{found} was read as a string"));
        }
        if notes.control {
            self.report(ChangeKind::ControlCharacter, || {
                "a raw control character, such as a line break, inside the string was kept"
                    .to_owned()
            });
        }
        Ok(())
    }

    /// The run of characters that stand for themselves.
    fn plain(&mut self, quote: u8) -> &'t str {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        let length =
            rest.bytes().position(|b| b == quote || b == b'\\' || b < 0x20).unwrap_or(rest.len());
        self.pos += length;
        rest.get(..length).unwrap_or_default()
    }

    fn escape(
        &mut self,
        quote: u8,
        text: &mut String,
        notes: &mut StringNotes,
    ) -> Result<(), ArgumentError> {
        let at = self.pos;
        let Some(escaped) = self.text.get(at + 1..).and_then(|rest| rest.chars().next()) else {
            return Err(ArgumentError::new(at, "the end of the text inside a string", CUT));
        };
        self.pos += 1 + escaped.len_utf8();
        let plain = match escaped {
            'u' => self.unicode(at)?,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '\\' | '/' => escaped,
            // A quote of the string's own kind can only be escaped, so this backslash says nothing
            // about how the others are meant.
            '"' | '\'' if escaped == char::from(quote) => {
                text.push(escaped);
                return Ok(());
            }
            '"' => '"',
            c if reads_as_backslash(c) => {
                notes.invalid.get_or_insert((at, c));
                text.push('\\');
                text.push(c);
                return Ok(());
            }
            c => {
                let shown: String = c.escape_debug().collect();
                return Err(ArgumentError::new(
                    at,
                    format!("the escape \\{shown}, which JSON does not have"),
                    BACKSLASH,
                ));
            }
        };
        notes.meaningful = true;
        text.push(plain);
        Ok(())
    }

    /// The character of `\uXXXX` whose digits are next, with its second half if it is a pair.
    fn unicode(&mut self, at: usize) -> Result<char, ArgumentError> {
        const FIX: &str = "Write four hexadecimal digits after \\u and both halves of a pair, or send the character itself.";
        let high = self.hex(at)?;
        if let Some(c) = char::from_u32(high) {
            return Ok(c);
        }
        let pair = if (0xd800..0xdc00).contains(&high)
            && self.text.get(self.pos..).is_some_and(|rest| rest.starts_with("\\u"))
        {
            self.pos += 2;
            let low = self.hex(at)?;
            (0xdc00..0xe000)
                .contains(&low)
                .then(|| 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
        } else {
            None
        };
        pair.and_then(char::from_u32).ok_or_else(|| {
            ArgumentError::new(at, format!("half of a surrogate pair, \\u{high:04x}"), FIX)
        })
    }

    fn hex(&mut self, at: usize) -> Result<u32, ArgumentError> {
        let digits = self
            .text
            .get(self.pos..self.pos + 4)
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.pos += 4;
        code.ok_or_else(|| ArgumentError::new(at, "\\u without four hexadecimal digits", BACKSLASH))
    }
}

/// What was seen in one string.
#[derive(Default)]
struct StringNotes {
    /// The first escape JSON does not know.
    invalid: Option<(usize, char)>,
    /// Whether some backslash changes the text around it.
    meaningful: bool,
    control: bool,
}

/// Whether a backslash before `c` can only be meant as a backslash: characters of regular
/// expressions and of Windows paths that no common language escapes (`\x`, `\0`, `\a`, `\v`, `\e`,
/// `\U`, `\N` are escapes in C, Python or JavaScript; other punctuation is escaped in shells and
/// Markdown).
fn reads_as_backslash(c: char) -> bool {
    (c.is_ascii_alphabetic() && !matches!(c, 'a' | 'e' | 'v' | 'x' | 'X' | 'U' | 'N'))
        || matches!(
            c,
            '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '^' | '$' | '|' | '-'
        )
}
