//! Applies the hunks of a diff to a file's content.
#![deny(clippy::indexing_slicing)]

use super::locate_hunk::{HunkMismatch, Locator};
use super::{Hunk, Op};

/// The result of applying a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The new content.
    pub content: String,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// For each hunk: its first line in the old content, from 1, and the offset from the line in
    /// its header (0 if it matches or the header has none).
    pub places: Vec<(usize, isize)>,
}

/// Applies the hunks in order; all of them, or none.
///
/// # Errors
/// The index of the hunk that does not fit, from 0, and why.
pub fn apply(content: &str, hunks: &[Hunk]) -> Result<Applied, (usize, HunkMismatch)> {
    let whole: Vec<&str> = content.split_inclusive('\n').collect();
    let bare = whole.iter().map(|line| split_end(line).0).collect();
    let mut locator = Locator::new(bare);
    let mut out = Output { text: String::with_capacity(content.len()), end: usual_end(&whole) };
    let mut applied = Applied { content: String::new(), added: 0, removed: 0, places: Vec::new() };
    let (mut from, mut drift) = (0, 0);
    for (number, hunk) in hunks.iter().enumerate() {
        let place = locator.find(hunk, from, drift).map_err(|misfit| (number, misfit))?;
        if let Some(expected) = hunk.line {
            drift = (place + 1).checked_signed_diff(expected).unwrap_or(0);
        }
        let off = if hunk.line.is_some() { drift } else { 0 };
        applied.places.push((place + 1, off));
        out.keep(whole.get(from..place).unwrap_or_default());
        from = out.hunk(hunk, &whole, place, &mut applied);
    }
    out.keep(whole.get(from..).unwrap_or_default());
    applied.content = out.text;
    Ok(applied)
}

/// Splits a line and its line end.
fn split_end(line: &str) -> (&str, &str) {
    let bare = line.strip_suffix('\n').unwrap_or(line);
    let bare = bare.strip_suffix('\r').unwrap_or(bare);
    line.split_at(bare.len())
}

/// Returns the most frequent line end.
fn usual_end(lines: &[&str]) -> &'static str {
    let dos = lines.iter().filter(|line| line.ends_with("\r\n")).count();
    if dos * 2 > lines.len() { "\r\n" } else { "\n" }
}

struct Output {
    text: String,
    /// Line end of added lines.
    end: &'static str,
}

impl Output {
    /// Adds lines of the old content; a line end is inserted if the last line lacks one.
    fn keep(&mut self, lines: &[&str]) {
        if let Some(first) = lines.first() {
            self.end_line();
            self.text.push_str(first);
            for line in lines.iter().skip(1) {
                self.text.push_str(line);
            }
        }
    }

    fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(self.end);
        }
    }

    /// Applies a hunk at its position; returns the index of the first old line after it.
    fn hunk(&mut self, hunk: &Hunk, whole: &[&str], place: usize, applied: &mut Applied) -> usize {
        let mut at = place;
        let mut last_added = None;
        for line in &hunk.lines {
            match op_of(line.op) {
                (true, stays) => {
                    if let Some(old) = whole.get(at)
                        && stays
                    {
                        self.keep(&[old]);
                        last_added = None;
                    }
                    at += 1;
                    applied.removed += usize::from(!stays);
                }
                (false, _) => {
                    self.end_line();
                    self.text.push_str(&line.text);
                    self.text.push_str(self.end);
                    last_added = Some(line);
                    applied.added += 1;
                }
            }
        }
        if at >= whole.len()
            && let Some(line) = last_added
        {
            let had_no_end = whole.last().is_some_and(|line| !line.ends_with('\n'));
            let says_so = hunk.lines.iter().any(|line| line.is_unended);
            // Without a marker on either side, the file keeps or lacks its final line end as
            // before.
            if line.is_unended || (had_no_end && !says_so) {
                let bare = self.text.len() - self.end.len();
                self.text.truncate(bare);
            }
        }
        at
    }
}

/// Returns whether a line is in the old content, and whether it stays.
fn op_of(op: Op) -> (bool, bool) {
    match op {
        Op::Keep => (true, true),
        Op::Remove => (true, false),
        Op::Add => (false, false),
    }
}
