//! Here-documents.

use super::{Grammar, Parsed, What};
use crate::line::Block;

/// A here-document whose text has not begun.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) delimiter: String,
    /// Tabs at the beginning of its lines do not count.
    pub(super) strip: bool,
    /// Its text is taken as it is.
    pub(super) quoted: bool,
}

impl Grammar<'_, '_> {
    /// Reads the text of a here-document; it begins here.
    pub(super) fn heredoc(&mut self, pending: Pending) -> Parsed<()> {
        let from = self.at;
        let mut text = String::new();
        let end = loop {
            let start = self.at;
            if start >= self.src.len() {
                return self.odd("a here-document that never ends");
            }
            let line = self.heredoc_line(&pending);
            if line == pending.delimiter {
                break start;
            }
            if self.depth > 0 && line.starts_with(&pending.delimiter) && line.contains(')') {
                self.doubt(start, "a here-document that a parenthesis may end");
            }
            text.push_str(&line);
            text.push('\n');
        };
        let after = self.at;
        if !pending.quoted {
            let body = self.src.get(from..end).unwrap_or_default();
            if body.contains("\\\n") && body.contains(['$', '`']) {
                // Bash joins the lines before it reads the expansion, quotes or not.
                self.doubt(from, "an expansion over two lines of a here-document");
            }
            self.heredoc_expansions(from, end)?;
            text = unescaped(&text);
        }
        self.at = after;
        self.found.inputs.push(text);
        Ok(())
    }

    /// The next line; continued lines are joined before anything else unless the text is taken as it is.
    fn heredoc_line(&mut self, pending: &Pending) -> String {
        let mut joined = String::new();
        loop {
            let rest = self.rest();
            let mut line = rest.split('\n').next().unwrap_or_default();
            self.skip(line.len().saturating_add(1));
            if pending.strip && joined.is_empty() {
                line = line.trim_start_matches('\t');
            }
            let backslashes = line.bytes().rev().take_while(|b| *b == b'\\').count();
            if pending.quoted || backslashes.is_multiple_of(2) || self.at >= self.src.len() {
                joined.push_str(line);
                return joined;
            }
            joined.push_str(line.strip_suffix('\\').unwrap_or(line));
        }
    }

    fn heredoc_expansions(&mut self, from: usize, end: usize) -> Parsed<()> {
        self.at = from;
        let mut atoms = Vec::new();
        while self.at < end {
            match self.peek() {
                Some(b'\\') => {
                    self.skip(1);
                    self.char();
                }
                Some(b'$') => self.dollar(true, &mut atoms)?,
                Some(b'`') => self.backticks(true, &mut atoms)?,
                _ => {
                    self.char();
                }
            }
        }
        if self.at > end {
            return self.odd("an expansion over the end of a here-document");
        }
        let expands = |atom: &crate::token::Atom| match *atom {
            crate::token::Atom::Expansion { at, end, .. } => self.src.get(at..end),
            _ => None,
        };
        if let Some(text) = atoms.iter().find_map(expands) {
            let block = Block::Expansion(text.to_owned());
            self.add(from, end, What::Assignment, vec![block]);
        }
        Ok(())
    }
}

/// What is left of a text in which `$`, a backtick and a backslash may be escaped.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let escapes = c == '\\' && chars.peek().is_some_and(|next| "$`\\".contains(*next));
        plain.extend(if escapes { chars.next() } else { Some(c) });
    }
    plain
}
