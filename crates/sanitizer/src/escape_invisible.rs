//! The first pass: writes out invisible and terminal characters in a visible form.
//!
//! - C0 controls and DEL in caret notation (`^[`), C1 controls as `\x9B`. Tab, line feed and
//!   carriage return + line feed are ordinary text.
//! - A lone carriage return is written `^M`: on a terminal it hides the text before it. Progress
//!   bars lose their effect, but keep all their text.
//! - Hidden characters as `\u200B`, `\u{E0041}`; below U+0100 as `\xAD`. A run of more than eight
//!   is shortened to the first of them and an exact count, so that hidden text cannot inflate the
//!   output.
//! - Private-use characters are icons of fonts and stay. A longer run of them is hidden text and is
//!   written out like hidden characters.
#![deny(clippy::indexing_slicing)]

use super::bidi_controls::Line;
use super::byte_scan;
use super::invisible_chars::{
    CharContext, flag_tags, is_bidi_control, is_invisible, is_needed, is_private_use,
};
use super::report::{ChangeKind, Report};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Longest run of hidden characters that is written out one by one.
const LONGEST_RUN: usize = 8;

/// Longest run of font icons: a terminal prompt contains three in a row.
const MOST_ICONS: usize = 4;

/// Writes out invisible characters; text without them is returned unchanged.
pub(super) fn escape_invisible<'a>(text: Cow<'a, str>, report: &mut Report) -> Cow<'a, str> {
    let mut pass = Pass { text: &text, line: Line::default(), out: String::new(), copied: 0 };
    pass.run(report);
    if pass.copied == 0 {
        return text;
    }
    let Pass { mut out, copied, .. } = pass;
    out.push_str(byte_scan::text_from(&text, copied));
    Cow::Owned(out)
}

struct Pass<'t> {
    text: &'t str,
    line: Line,
    out: String,
    /// Everything before this byte is in `out`; 0 until the first change.
    copied: usize,
}

impl Pass<'_> {
    fn run(&mut self, report: &mut Report) {
        let mut at = 0;
        while let Some(found) = byte_scan::next_suspect(self.text.as_bytes(), at) {
            let Some(c) = byte_scan::text_from(self.text, found).chars().next() else { return };
            let end = found + c.len_utf8();
            at = if c.is_control() {
                self.control(found, c, report)
            } else if is_invisible(c) {
                self.hidden(found, c, report)
            } else if is_private_use(c) {
                self.icons(found, report)
            } else {
                end
            };
        }
    }

    fn control(&mut self, at: usize, c: char, report: &mut Report) -> usize {
        let end = at + c.len_utf8();
        if c == '\r' && byte_scan::text_from(self.text, end).starts_with('\n') {
            return end + 1;
        }
        let visible = match u8::try_from(c) {
            Ok(0x7F) => "^?".to_owned(),
            Ok(low @ 0..0x20) => format!("^{}", char::from(low + 0x40)),
            _ => format!("\\x{:02X}", c as u32),
        };
        report.change(ChangeKind::Terminal, 1, None, || Cow::Borrowed(&visible));
        self.replace(at, end, &visible);
        end
    }

    fn hidden(&mut self, at: usize, first: char, report: &mut Report) -> usize {
        if let Some(tags) = flag_tags(self.text, at) {
            return at + tags;
        }
        if self.is_needed(at, first) {
            return at + first.len_utf8();
        }
        let (mut end, mut count) = (at, 0);
        let mut written = String::new();
        for c in byte_scan::text_from(self.text, at).chars() {
            if !is_invisible(c) || (count > 0 && self.is_needed(end, c)) {
                break;
            }
            count += 1;
            if count <= LONGEST_RUN {
                write_code_point(&mut written, c);
            }
            end += c.len_utf8();
        }
        if count > LONGEST_RUN {
            written.clear();
            write_code_point(&mut written, first);
            // Writing to a String cannot fail.
            let _ = write!(written, "…({count} invisible characters)");
        }
        report.change(ChangeKind::Invisible, count, None, || Cow::Borrowed(&written));
        self.replace(at, end, &written);
        end
    }

    fn icons(&mut self, at: usize, report: &mut Report) -> usize {
        let run = byte_scan::text_from(self.text, at);
        let length = run.find(|c: char| !is_private_use(c)).unwrap_or(run.len());
        let run = byte_scan::text_before(run, length);
        let count = run.chars().count();
        if count > MOST_ICONS {
            let mut written = String::new();
            let shown = if count > LONGEST_RUN { 1 } else { count };
            run.chars().take(shown).for_each(|c| write_code_point(&mut written, c));
            if count > shown {
                // Writing to a String cannot fail.
                let _ = write!(written, "…({count} characters for private use)");
            }
            report.change(ChangeKind::Invisible, count, None, || Cow::Borrowed(&written));
            self.replace(at, at + length, &written);
        }
        at + length
    }

    fn is_needed(&mut self, at: usize, c: char) -> bool {
        if is_bidi_control(c) {
            self.line.needs(self.text, at, c)
        } else {
            is_needed(c, &CharContext::new(self.text, at, c.len_utf8()))
        }
    }

    fn replace(&mut self, start: usize, end: usize, with: &str) {
        self.out.push_str(self.text.get(self.copied..start).unwrap_or(""));
        self.out.push_str(with);
        self.copied = end;
    }
}

fn write_code_point(out: &mut String, c: char) {
    // Writing to a String cannot fail.
    let _ = match c as u32 {
        code @ 0..=0xFF => write!(out, "\\x{code:02X}"),
        code @ 0x100..=0xFFFF => write!(out, "\\u{code:04X}"),
        code => write!(out, "\\u{{{code:X}}}"),
    };
}
