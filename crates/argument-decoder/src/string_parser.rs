//! Strings: escapes, quotes of either kind, and literal backslashes.
#![deny(clippy::indexing_slicing)]

use super::argument_error::ArgumentError;
use super::changes::ChangeKind;
use super::parser::{CUT, Parser};
use super::value_preview::shorten;

const BACKSLASH: &str =
    "Write every backslash in a string as two backslashes (\\\\), and a line break as \\n.";

impl<'t> Parser<'t, '_> {
    /// Reads a string between typographic quotes, if one opens at the position.
    pub(super) fn typographic_string(&mut self) -> Result<Option<String>, ArgumentError> {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        let Some((open, body)) = rest.chars().next().map(|c| (c, rest.get(c.len_utf8()..))) else {
            return Ok(None);
        };
        let close = match open {
            '\u{201c}' => '\u{201d}',
            '\u{2018}' => '\u{2019}',
            _ => return Ok(None),
        };
        let body = body.unwrap_or_default();
        let Some((content, _)) = body.split_once(close) else {
            return Err(ArgumentError::new(
                self.pos,
                format!("the typographic quote {open} without {close}"),
                "Put names and texts into straight double quotes.",
            ));
        };
        // A quote inside could open another string, and a backslash would be ambiguous.
        if content.contains([open, '\\']) {
            return Err(ArgumentError::new(
                self.pos,
                format!("the typographic quote {open} around a text that can be read in two ways"),
                "Put names and texts into straight double quotes.",
            ));
        }
        self.pos += open.len_utf8() + content.len() + close.len_utf8();
        self.report(ChangeKind::TypographicQuotes, || {
            format!(
                "the text between typographic quotes, {:?}, was read as a string",
                shorten(content, 40)
            )
        });
        Ok(Some(content.to_owned()))
    }

    /// Reads a raw string of Python whose prefix is at the position.
    pub(super) fn raw_string(&mut self, quote: char) -> Result<String, ArgumentError> {
        let body = self.text.get(self.pos + 2..).unwrap_or_default();
        let content = body.split(quote).next().unwrap_or_default();
        let is_complete = content.len() < body.len();
        // In Python a backslash before the quote keeps the string open, in other languages it does
        // not; two quotes at the start may begin a multi-line string.
        if !is_complete || content.is_empty() || content.ends_with('\\') || content.contains('\n') {
            return Err(
                self.unexpected("Put texts into double quotes, with every backslash doubled.")
            );
        }
        self.pos += 2 + content.len() + 1;
        self.report(ChangeKind::RawString, || {
            format!("the raw string {:?} was read as a string", shorten(content, 40))
        });
        Ok(content.to_owned())
    }

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
                format!("\\{escaped} is not a JSON escape; its backslash was kept as a backslash")
            });
        }
        if quote == b'\'' {
            let found =
                shorten(self.text.get(start..self.pos).unwrap_or_default(), 40).into_owned();
            self.report(ChangeKind::SingleQuotes, || format!("{found} was read as a string"));
        }
        if quote == b'`' {
            let found =
                shorten(self.text.get(start..self.pos).unwrap_or_default(), 40).into_owned();
            if self.text.get(start..self.pos).is_some_and(|text| text.contains("${")) {
                return Err(ArgumentError::new(
                    start,
                    "a template literal with an expression in it",
                    "Send the finished text as a string in double quotes.",
                ));
            }
            self.report(ChangeKind::TemplateLiteral, || format!("{found} was read as a string"));
            return Ok(());
        }
        if notes.hex {
            self.report(ChangeKind::HexEscape, || {
                "an escape with two hexadecimal digits was read as its character".to_owned()
            });
        }
        if notes.control {
            self.report(ChangeKind::ControlCharacter, || {
                "a raw control character, such as a line break, inside the string was kept"
                    .to_owned()
            });
        }
        Ok(())
    }

    /// Reads the characters that need no decoding.
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
            'x' => match self.hex_escape() {
                Some(c) => {
                    notes.hex = true;
                    c
                }
                None => {
                    return Err(ArgumentError::new(
                        at,
                        "the escape \\x, which JSON does not have",
                        BACKSLASH,
                    ));
                }
            },
            // A quote of the string's own kind can only be escaped, so this backslash gives no
            // information about the others.
            '"' | '\'' | '`' if escaped == char::from(quote) => {
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

    /// Returns the character of `\uXXXX`, whose digits are next, including the second half of a
    /// surrogate pair.
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

    /// Returns the ASCII character of `\xHH`, whose digits are next. Above ASCII, languages differ:
    /// a byte or a character.
    fn hex_escape(&mut self) -> Option<char> {
        let digits = self.text.get(self.pos..self.pos + 2)?;
        let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        let code = u8::from_str_radix(digits, 16).ok().filter(|code| is_hex && code.is_ascii())?;
        self.pos += 2;
        Some(char::from(code))
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

/// Observations about one string.
#[derive(Default)]
struct StringNotes {
    /// The first escape that JSON does not define.
    invalid: Option<(usize, char)>,
    /// Whether a backslash changes the text around it.
    meaningful: bool,
    control: bool,
    /// Whether an escape had two hexadecimal digits.
    hex: bool,
}

/// Returns whether a backslash before `c` can only be a literal backslash: characters of regular
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
