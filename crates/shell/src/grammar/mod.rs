//! The grammar of bash, read from the front in one pass: every byte is looked at a bounded number of times, whatever the nesting.
//!
//! It accepts more than bash does where that hides nothing (`; ls` for instance): a line that bash refuses runs nothing.
#![deny(clippy::indexing_slicing)]

mod compound;
mod expansion;
mod found;
mod heredoc;
mod list;
mod redirect;
mod simple;
mod test;
mod word;

pub(crate) use found::{Found, Part, What};

use heredoc::Pending;

/// Nesting that is followed: commands in commands, quotes in expansions. A command that a person or a model writes stays below ten.
pub(crate) const MAX_DEPTH: usize = 24;

/// The grammar cannot go on.
#[derive(Debug)]
pub(super) struct Odd {
    at: usize,
    what: &'static str,
}

type Parsed<T> = Result<T, Odd>;

/// Reads one text. Texts in it (backticks) have readers of their own that add to the same findings.
pub(crate) struct Grammar<'s, 'f> {
    src: &'s str,
    at: usize,
    depth: usize,
    /// Where the text stands in the line; `None` = it is the line.
    origin: Option<usize>,
    pending: Vec<Pending>,
    found: &'f mut Found,
}

/// Takes a text apart. `depth` levels are around it, and it stands at `origin` of the line.
pub(crate) fn read(src: &str, depth: usize, origin: Option<usize>, found: &mut Found) {
    let mut grammar = Grammar { src, at: 0, depth, origin, pending: Vec::new(), found };
    if let Err(odd) = grammar.whole() {
        let at = grammar.place(odd.at);
        grammar.found.doubt(at, odd.what);
    }
}

impl<'s> Grammar<'s, '_> {
    fn whole(&mut self) -> Parsed<()> {
        let strange = |c: char| c.is_ascii_control() && c != '\n' && c != '\t';
        if let Some(at) = self.src.find(strange) {
            self.doubt(at, "a control character");
        }
        self.list()?;
        if self.at < self.src.len() {
            return self.odd("a word or an operator that begins nothing");
        }
        if !self.pending.is_empty() {
            return self.odd("a here-document that never ends");
        }
        Ok(())
    }

    /// Where a byte of this text stands in the line.
    fn place(&self, at: usize) -> usize {
        self.origin.unwrap_or(at)
    }

    fn odd<T>(&self, what: &'static str) -> Parsed<T> {
        Err(Odd { at: self.at, what })
    }

    fn doubt(&mut self, at: usize, what: &str) {
        let at = self.place(at);
        self.found.doubt(at, what);
    }

    /// Goes one level down.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return self.odd("nested too deeply");
        }
        self.depth = self.depth.saturating_add(1);
        let result = read(self);
        self.depth = self.depth.saturating_sub(1);
        result
    }

    fn peek(&self) -> Option<u8> {
        self.byte(0)
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.src.as_bytes().get(self.at.saturating_add(ahead)).copied()
    }

    fn rest(&self) -> &'s str {
        self.src.get(self.at..).unwrap_or_default()
    }

    fn is_next(&self, text: &str) -> bool {
        let bytes = self.src.as_bytes().get(self.at..).unwrap_or_default();
        bytes.starts_with(text.as_bytes())
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.src.len());
    }

    /// Takes the text if it is next.
    fn take(&mut self, text: &str) -> bool {
        let is_next = self.is_next(text);
        if is_next {
            self.skip(text.len());
        }
        is_next
    }

    fn expect(&mut self, text: &str, otherwise: &'static str) -> Parsed<()> {
        if self.take(text) { Ok(()) } else { self.odd(otherwise) }
    }

    fn char(&mut self) -> Option<char> {
        let char = self.rest().chars().next()?;
        self.skip(char.len_utf8());
        Some(char)
    }

    /// Blanks, continued lines and a comment: what may stand between two words.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.skip(1),
                Some(b'\\') if self.byte(1) == Some(b'\n') => self.skip(2),
                Some(b'#') => {
                    let length = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.skip(length);
                }
                _ => return,
            }
        }
    }

    /// Blanks and ends of lines.
    fn lines(&mut self) -> Parsed<()> {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// The end of a line, and the here-documents that begin after it.
    fn newline(&mut self) -> Parsed<()> {
        self.skip(1);
        for pending in std::mem::take(&mut self.pending) {
            self.heredoc(pending)?;
        }
        Ok(())
    }

    /// The word here if nothing in it is quoted or expanded, without taking it: what a reserved word looks like.
    fn keyword(&self) -> &'s str {
        let rest = self.rest();
        let is_end = |c: char| " \t\n;&|()<>".contains(c);
        let mut bytes = rest.bytes().enumerate();
        // No reserved word is longer.
        let end =
            bytes.by_ref().take(12).find(|(_, b)| is_end(char::from(*b)) || b"'\"$\\`".contains(b));
        match end {
            Some((end, b)) if is_end(char::from(b)) => rest.get(..end).unwrap_or_default(),
            Some(_) => "",
            None if rest.len() <= 12 => rest,
            None => "",
        }
    }
}
