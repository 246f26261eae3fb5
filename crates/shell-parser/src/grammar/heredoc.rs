//! Here-documents.

use super::{Parsed, Parser, PartKind};
use crate::command_line::AllowBlocker;

/// A here-document whose text has not started.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) delimiter: String,
    /// Whether leading tabs of its lines are removed (`<<-`).
    pub(super) strip: bool,
    /// Whether its text is literal.
    pub(super) quoted: bool,
}

impl Parser<'_, '_> {
    /// Parses the text of a here-document, which starts here.
    pub(super) fn heredoc(&mut self, pending: Pending) -> Parsed<()> {
        let from = self.at;
        let mut text = String::new();
        let end = loop {
            let start = self.at;
            if start >= self.src.len() {
                return self.syntax_error("a here-document that never ends");
            }
            let line = self.heredoc_line(&pending);
            if line == pending.delimiter {
                break start;
            }
            if self.depth > 0 && line.starts_with(&pending.delimiter) && line.contains(')') {
                self.mark_unparsed(start, "a here-document that a parenthesis may end");
            }
            text.push_str(&line);
            text.push('\n');
        };
        let after = self.at;
        if !pending.quoted {
            let body = self.src.get(from..end).unwrap_or_default();
            if body.contains("\\\n") && body.contains(['$', '`']) {
                // Bash joins the lines before it parses the expansion, even inside quotes.
                self.mark_unparsed(from, "an expansion over two lines of a here-document");
            }
            self.heredoc_expansions(from, end)?;
            text = unescaped(&text);
        }
        self.at = after;
        self.found.inputs.push(text);
        Ok(())
    }

    /// Returns the next line. Continued lines are joined first, unless the text is literal.
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
            return self.syntax_error("an expansion over the end of a here-document");
        }
        let expands = |atom: &crate::token::Atom| match *atom {
            crate::token::Atom::Expansion { at, end, .. } => self.src.get(at..end),
            _ => None,
        };
        if let Some(text) = atoms.iter().find_map(expands) {
            self.found.expands_input = true;
            let block = AllowBlocker::Expansion(text.to_owned());
            self.add(from, end, PartKind::Assignment, vec![block]);
        }
        Ok(())
    }
}

/// Returns the text after removing the backslashes that escape `$`, a backtick or a backslash.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let escapes = c == '\\' && chars.peek().is_some_and(|next| "$`\\".contains(*next));
        plain.extend(if escapes { chars.next() } else { Some(c) });
    }
    plain
}
