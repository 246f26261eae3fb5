//! JSON: rewrites only string literals whose decoded text contains active content.
//!
//! Everything else stays byte for byte: numbers, order, duplicate keys, blanks, other escapes. The
//! text is read as a sequence of JSON tokens, so that JSON lines and truncated documents are
//! supported; no active content is possible between tokens. Text that does not consist of JSON
//! tokens is rejected, and the caller reads it as plain text.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::call_fences;
use super::line_starts;
use super::report::{ChangeKind, Report};
use super::sanitize::{Profile, neutralize};
use std::borrow::Cow;
use std::fmt::Write as _;

/// The result of a pass over JSON.
pub(super) struct SanitizedJson<'a> {
    /// The text, with the rewritten literals.
    pub(super) text: Cow<'a, str>,
    /// The decoded text of literals with escapes, which the raw text does not show.
    pub(super) decoded: String,
}

/// Neutralizes a text of JSON tokens; `None` if it is not one.
pub(super) fn neutralize_literals<'a>(
    text: &'a str,
    report: &mut Report,
) -> Option<SanitizedJson<'a>> {
    if !text.trim_start().starts_with(|c: char| c.is_ascii_digit() || "{[\"-tfn".contains(c)) {
        return None;
    }
    // A text that turns out not to be JSON must leave no trace in the report.
    let mut found = Report::default();
    let mut pass = Literals { text, out: String::new(), copied: 0, decoded: String::new() };
    pass.run(&mut found)?;
    for change in found.changes {
        report.change(change.kind, change.count, change.provider, || change.example.into());
    }
    let Literals { mut out, copied, decoded, .. } = pass;
    if copied == 0 {
        return Some(SanitizedJson { text: Cow::Borrowed(text), decoded });
    }
    out.push_str(byte_scan::text_from(text, copied));
    Some(SanitizedJson { text: Cow::Owned(out), decoded })
}

struct Literals<'t> {
    text: &'t str,
    out: String,
    copied: usize,
    decoded: String,
}

impl Literals<'_> {
    /// Replaces a lone carriage return by a line feed: it is white space in JSON, but it moves a
    /// terminal's cursor; a line feed is equivalent without that effect.
    fn line_break(&mut self, at: usize, report: &mut Report) -> usize {
        self.out.push_str(self.text.get(self.copied..at).unwrap_or_default());
        self.out.push('\n');
        self.copied = at + 1;
        report.change(ChangeKind::Terminal, 1, None, || "^M".into());
        self.copied
    }

    fn run(&mut self, report: &mut Report) -> Option<()> {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at = match byte {
                b' ' | b'\t' | b'\n' | b'{' | b'}' | b'[' | b']' | b',' | b':' => at + 1,
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => at + 2,
                b'\r' => self.line_break(at, report),
                b'"' => self.literal(at, report)?,
                b'-' | b'0'..=b'9' => number_end(bytes, at),
                b't' | b'f' | b'n' => word_end(self.text, at)?,
                _ => return None,
            };
        }
        Some(())
    }

    /// Handles the literal that opens at byte `at`; returns the byte after it.
    fn literal(&mut self, at: usize, report: &mut Report) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let start = at + 1;
        let (end, mut marks) = literal_end(bytes, start)?;
        let raw = self.text.get(start..end)?;
        let profile = if is_key(bytes, end + 1) { Profile::Key } else { Profile::Prose };
        let escaped = marks & ESCAPE != 0;
        let decoded = if escaped { Cow::Owned(decode(raw)?) } else { Cow::Borrowed(raw) };
        if escaped {
            marks = marks_of(&decoded);
        }
        if may_be_live(&decoded, marks)
            && let Cow::Owned(safe) = neutralize(&decoded, profile, report)
        {
            self.out.push_str(self.text.get(self.copied..start)?);
            encode(&mut self.out, &safe);
            self.copied = end;
        }
        if escaped {
            self.decoded.push_str(&decoded);
            self.decoded.push_str("\n\n");
        }
        Some(end + 1)
    }
}

/// Returns the end of the literal whose text begins at byte `start`, and the marks of its bytes.
fn literal_end(bytes: &[u8], start: usize) -> Option<(usize, u8)> {
    let (mut end, mut marks) = (start, 0);
    loop {
        match mark(*bytes.get(end)?) {
            QUOTE => return Some((end, marks)),
            ESCAPE => {
                marks |= ESCAPE;
                end += 2;
            }
            found => {
                marks |= found;
                end += 1;
            }
        }
    }
}

/// The byte that ends a literal.
const QUOTE: u8 = 1;
/// The byte that begins an escape.
const ESCAPE: u8 = 2;
/// A byte that could begin active content.
const LIVE: u8 = 4;
/// A byte of every line that opens a turn or a call.
const COLON: u8 = 8;
/// A byte of every code fence.
const FENCE: u8 = 16;

/// Returns what a byte of a literal may be part of, as one of the bits above.
const fn mark_of(byte: u8) -> u8 {
    match byte {
        b'"' => QUOTE,
        b'\\' => ESCAPE,
        0..=8 | 0xB..0x20 | b'<' | b'[' | 0x7F.. => LIVE,
        b':' => COLON,
        b'`' | b'~' => FENCE,
        _ => 0,
    }
}

/// Returns [`mark_of`] by a table: literals are short, and one lookup per byte is faster than a
/// search for their end and a second pass over their text.
#[inline(always)]
fn mark(byte: u8) -> u8 {
    #[expect(clippy::indexing_slicing, reason = "runs at compile time, where it fails the build")]
    static MARKS: [u8; 256] = {
        let mut marks = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            marks[byte] = mark_of(byte as u8);
            byte += 1;
        }
        marks
    };
    MARKS.get(usize::from(byte)).copied().unwrap_or(LIVE)
}

fn marks_of(text: &str) -> u8 {
    text.bytes().fold(0, |found, byte| found | mark(byte))
}

/// Returns whether a string with these marks contains a byte that could begin active content, or a
/// line that opens a turn or a call.
fn may_be_live(text: &str, marks: u8) -> bool {
    let opens_line = || {
        let mut places = Vec::new();
        line_starts::find_line_starts(text, &mut places);
        !places.is_empty()
    };
    let has_fence = || {
        let mut fences = Vec::new();
        call_fences::find_call_fences(text, &mut fences);
        !fences.is_empty()
    };
    marks & LIVE != 0 || (marks & COLON != 0 && opens_line()) || (marks & FENCE != 0 && has_fence())
}

/// Returns whether it is the name of a member: a colon follows. Nothing renders names, so images in
/// them stay.
fn is_key(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or(&[]);
    rest.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':')
}

fn number_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or(&[]);
    let is_part = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    at + rest.iter().position(|b| !is_part(b)).unwrap_or(rest.len())
}

fn word_end(text: &str, at: usize) -> Option<usize> {
    let rest = byte_scan::text_from(text, at);
    let word = ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word))?;
    let end = at + word.len();
    let goes_on =
        byte_scan::text_from(text, end).starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (!goes_on).then_some(end)
}

/// Decodes the escapes of a literal (RFC 8259 §7); a lone surrogate becomes U+FFFD.
fn decode(raw: &str) -> Option<String> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(byte_scan::text_before(rest, at));
        let kind = rest.as_bytes().get(at + 1)?;
        rest = byte_scan::text_from(rest, at + 2);
        out.push(match kind {
            b'"' | b'\\' | b'/' => char::from(*kind),
            b'b' => '\u{8}',
            b'f' => '\u{C}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let (c, len) = unicode_escape(rest)?;
                rest = byte_scan::text_from(rest, len);
                c
            }
            _ => return None,
        });
    }
    out.push_str(rest);
    Some(out)
}

/// Returns the character of the four digits after `\u`, including the second half of a surrogate
/// pair.
fn unicode_escape(digits: &str) -> Option<(char, usize)> {
    let unit = |text: &str| {
        let four = text.get(..4).filter(|four| four.bytes().all(|b| b.is_ascii_hexdigit()))?;
        u32::from_str_radix(four, 16).ok()
    };
    let first = unit(digits)?;
    if let Some(c) = char::from_u32(first) {
        return Some((c, 4));
    }
    let second = byte_scan::text_from(digits, 4).strip_prefix("\\u").and_then(unit);
    match (first, second) {
        (0xD800..0xDC00, Some(low @ 0xDC00..0xE000)) => {
            let c = char::from_u32(0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00))?;
            Some((c, 10))
        }
        _ => Some(('\u{FFFD}', 4)),
    }
}

fn encode(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..' ' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::property_tests::hostile;
    use super::super::sanitize::sanitize;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_lone_carriage_return_between_tokens_leaves_json_json() {
        for (text, expected) in [("\r7\r\r", "\n7\n\n"), ("[\r1,\r\n2]", "[\n1,\r\n2]")] {
            let sanitised = sanitize(text, "application/json");
            assert_eq!(sanitised.text, expected);
            assert_eq!(sanitize(expected, "application/json").text, expected);
        }
        // In a string it stays what it was: an escape.
        assert_eq!(sanitize(r#"{"a":"x\ry"}"#, "application/json").text, r#"{"a":"x^My"}"#);
    }

    proptest! {
        #[test]
        fn a_string_that_is_passed_over_has_nothing_to_escape(
            text in hostile(),
            start in "[ >]{0,2}(|Action Input:|Thought:\nAction:|```tool_call|~~~ \\.tool-use)",
        ) {
            // Without the bytes that always cause a closer check.
            let is_kept = |c: &char| c.is_ascii() && mark(*c as u8) & LIVE == 0;
            let text: String = (start + &text).chars().filter(is_kept).collect();
            let safe = neutralize(&text, Profile::Prose, &mut Report::default());
            let is_unsafe = safe != text.as_str();
            prop_assert_eq!(may_be_live(&text, marks_of(&text)), is_unsafe, "{:?}", text);
        }
    }
}
