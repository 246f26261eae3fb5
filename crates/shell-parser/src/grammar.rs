//! One-pass parser for the grammar of bash. It visits every byte a bounded number of times, at any
//! nesting.
//!
//! It accepts more than bash if that hides no command (`; ls`, for example): a line that bash
//! rejects runs nothing.
#![deny(clippy::indexing_slicing)]

mod compound;
mod expansion;
mod heredoc;
mod list;
mod parts;
mod redirect;
mod simple;
mod test_expression;
mod word;

pub(crate) use parts::{Input, ParsedParts, Part, PartKind};

use heredoc::Pending;

/// Maximum nesting: commands in commands, quotes in expansions. Commands written by people or
/// models stay below ten.
pub(crate) const MAX_DEPTH: usize = 24;

/// A syntax error at which the parser stops.
#[derive(Debug)]
pub(super) struct SyntaxError {
    at: usize,
    what: &'static str,
}

type Parsed<T> = Result<T, SyntaxError>;

/// Parses one text. Embedded texts (backticks) have separate parsers that add to the same parts.
pub(crate) struct Parser<'s, 'f> {
    src: &'s str,
    at: usize,
    depth: usize,
    /// Offset of an embedded text in the line; `None` if the text is the line itself.
    origin: Option<usize>,
    pending: Vec<Pending>,
    /// Bytes that may still be read ahead of the parser (see [`Parser::is_arithmetic`]).
    ahead: usize,
    found: &'f mut ParsedParts,
}

/// Parses a text at nesting level `depth` that starts at `origin` of the line.
pub(crate) fn parse_into(src: &str, depth: usize, origin: Option<usize>, found: &mut ParsedParts) {
    // Every level of nesting may scan the whole text once.
    let ahead = src.len().saturating_mul(MAX_DEPTH);
    let mut grammar = Parser { src, at: 0, depth, origin, pending: Vec::new(), ahead, found };
    if let Err(odd) = grammar.parse_all() {
        let at = grammar.offset_in_line(odd.at);
        grammar.found.mark_unparsed(at, odd.what);
    }
}

impl<'s> Parser<'s, '_> {
    fn parse_all(&mut self) -> Parsed<()> {
        let strange = |c: char| c.is_ascii_control() && c != '\n' && c != '\t';
        if let Some(at) = self.src.find(strange) {
            self.mark_unparsed(at, "a control character");
        }
        self.list()?;
        if self.at < self.src.len() {
            return self.syntax_error("a word or an operator that begins nothing");
        }
        if !self.pending.is_empty() {
            return self.syntax_error("a here-document that never ends");
        }
        Ok(())
    }

    /// Returns the offset in the line of a byte of this text.
    fn offset_in_line(&self, at: usize) -> usize {
        self.origin.unwrap_or(at)
    }

    fn syntax_error<T>(&self, what: &'static str) -> Parsed<T> {
        Err(SyntaxError { at: self.at, what })
    }

    fn mark_unparsed(&mut self, at: usize, what: &str) {
        let at = self.offset_in_line(at);
        self.found.mark_unparsed(at, what);
    }

    /// Parses one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return self.syntax_error("nested too deeply");
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

    /// Consumes the text if it comes next.
    fn take(&mut self, text: &str) -> bool {
        let is_next = self.is_next(text);
        if is_next {
            self.skip(text.len());
        }
        is_next
    }

    fn expect(&mut self, text: &str, otherwise: &'static str) -> Parsed<()> {
        if self.take(text) { Ok(()) } else { self.syntax_error(otherwise) }
    }

    fn char(&mut self) -> Option<char> {
        let char = self.rest().chars().next()?;
        self.skip(char.len_utf8());
        Some(char)
    }

    /// Skips blanks, continued lines and a comment: all text that can separate two words.
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

    /// Skips blanks and line ends.
    fn lines(&mut self) -> Parsed<()> {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Skips a line end and parses the here-documents that start after it.
    fn newline(&mut self) -> Parsed<()> {
        self.skip(1);
        for pending in std::mem::take(&mut self.pending) {
            self.heredoc(pending)?;
        }
        Ok(())
    }

    /// Returns the next word if no part of it is quoted or expanded, as in a reserved word. It is
    /// not consumed.
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
