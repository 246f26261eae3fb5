//! Direction controls: preserved where right-to-left text needs them, decided once per line.
//!
//! - Marks (LRM, RLM, ALM) are needed on a line that contains a right-to-left character, at most
//!   two in a row.
//! - Isolates (LRI, RLI, FSI, PDI) are needed if they form pairs around text on the same line; an
//!   RLI must contain right-to-left text, because otherwise its only effect is to reorder code
//!   (Trojan Source, CVE-2021-42574).
//! - Embeddings and overrides (LRE, RLE, PDF, LRO, RLO) are never needed: UAX #9 has recommended
//!   isolates instead since Unicode 6.3, and attackers disguise file names and code with overrides.
#![deny(clippy::indexing_slicing)]

use super::byte_scan;
use super::invisible_chars::is_bidi_control;
use std::ops::Range;

const FIRST_STRONG: char = '\u{2068}';
const LEFT_TO_RIGHT: char = '\u{2066}';
const RIGHT_TO_LEFT: char = '\u{2067}';
const POP: char = '\u{2069}';

/// Longest run of direction marks in real text (a mark at each end of two phrases).
const MARKS_IN_A_ROW: usize = 2;

/// The decisions for one line, computed at its first control.
#[derive(Default)]
pub(super) struct Line {
    range: Range<usize>,
    has_rtl: bool,
    /// Positions of the isolates that form pairs, ascending.
    paired: Vec<usize>,
}

impl Line {
    /// Returns whether the direction control `c` at byte `at` is needed.
    pub(super) fn needs(&mut self, text: &str, at: usize, c: char) -> bool {
        if !self.range.contains(&at) {
            *self = Self::read(text, at);
        }
        match c {
            '\u{61C}' | '\u{200E}' | '\u{200F}' => {
                let run = byte_scan::text_before(text, at).chars().rev().take(MARKS_IN_A_ROW);
                self.has_rtl && run.filter(|c| is_mark(*c)).count() < MARKS_IN_A_ROW
            }
            LEFT_TO_RIGHT..=POP => self.paired.binary_search(&at).is_ok(),
            _ => false,
        }
    }

    fn read(text: &str, at: usize) -> Self {
        let bytes = text.as_bytes();
        let start =
            bytes.get(..at).and_then(|head| memchr::memrchr(b'\n', head)).map_or(0, |n| n + 1);
        let end = memchr::memchr(b'\n', byte_scan::text_from(text, at).as_bytes())
            .map_or(text.len(), |n| at + n);
        let mut line = Self { range: start..end, ..Self::default() };
        line.pair(text.get(start..end).unwrap_or(""), start);
        line
    }

    fn pair(&mut self, line: &str, start: usize) {
        let mut open: Vec<Opened> = Vec::new();
        let mut rtl_seen = 0_usize;
        for (offset, c) in line.char_indices() {
            match c {
                LEFT_TO_RIGHT | RIGHT_TO_LEFT | FIRST_STRONG => {
                    open.push(Opened { offset, control: c, rtl_before: rtl_seen });
                }
                POP => {
                    if let Some(opened) = open.pop()
                        && opened.holds_something(offset, rtl_seen)
                    {
                        self.paired.extend([start + opened.offset, start + offset]);
                    }
                }
                c if is_right_to_left(c) => rtl_seen += 1,
                _ => {}
            }
        }
        self.has_rtl = rtl_seen > 0;
        self.paired.sort_unstable();
    }
}

struct Opened {
    offset: usize,
    control: char,
    rtl_before: usize,
}

impl Opened {
    fn holds_something(&self, end: usize, rtl_seen: usize) -> bool {
        end > self.offset + self.control.len_utf8()
            && (self.control != RIGHT_TO_LEFT || rtl_seen > self.rtl_before)
    }
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}')
}

/// Returns whether the character is in a right-to-left block (UAX #9, the ranges with default class
/// R or AL).
fn is_right_to_left(c: char) -> bool {
    matches!(c,
        '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FDFF}'
        | '\u{FE70}'..='\u{FEFC}' | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
        && !is_bidi_control(c)
}
