//! Expansions: parameters, commands, arithmetic and processes. The commands inside are parsed; the
//! resulting text is not known.

use super::{Parsed, Parser, parse_into};
use crate::token::Atom;

impl Parser<'_, '_> {
    /// Parses `$` and the expansion after it. A `$` without one is a literal.
    pub(super) fn dollar(&mut self, quoted: bool, atoms: &mut Vec<Atom>) -> Parsed<()> {
        let at = self.at;
        match self.byte(1) {
            Some(b'(') => self.nested(Self::dollar_parenthesis)?,
            Some(b'{') => self.nested(|grammar| grammar.parameter(quoted))?,
            Some(b'[') => {
                self.skip(2);
                self.nested(|grammar| grammar.old_arithmetic())?;
            }
            Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' | b'0'..=b'9') => self.skip(2),
            Some(b'_' | b'a'..=b'z' | b'A'..=b'Z') => {
                self.skip(1);
                let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
                let length = self.rest().bytes().take_while(is_name).count();
                self.skip(length);
                if self.is_next("\\\n") {
                    self.mark_unparsed(self.at, "a name over two lines");
                }
            }
            Some(b'\\') if self.byte(2) == Some(b'\n') => {
                return self.syntax_error("an expansion over two lines");
            }
            _ => {
                self.skip(1);
                atoms.push(if quoted { Atom::Quoted('$') } else { Atom::Bare('$') });
                return Ok(());
            }
        }
        atoms.push(Atom::Expansion { at, end: self.at, quoted });
        Ok(())
    }

    fn dollar_parenthesis(&mut self) -> Parsed<()> {
        if self.byte(2) == Some(b'(') && self.is_arithmetic(self.at.saturating_add(3)) {
            self.skip(3);
            return self.arithmetic();
        }
        if self.byte(2) == Some(b'\\') && self.byte(3) == Some(b'\n') {
            self.mark_unparsed(self.at, "an expansion over two lines");
        }
        self.skip(2);
        self.commands()
    }

    /// Parses commands up to the closing parenthesis.
    fn commands(&mut self) -> Parsed<()> {
        if !self.pending.is_empty() {
            return self.syntax_error("a command in the line of a here-document");
        }
        self.list()?;
        if !self.pending.is_empty() {
            return self.syntax_error("a here-document that never ends");
        }
        self.expect(")", "a substitution that never ends")
    }

    /// Parses `<( … )` and `>( … )`.
    pub(super) fn process(&mut self, atoms: &mut Vec<Atom>) -> Parsed<()> {
        let at = self.at;
        self.skip(2);
        self.nested(Self::commands)?;
        atoms.push(Atom::Expansion { at, end: self.at, quoted: true });
        Ok(())
    }

    /// Parses `` `…` `` as a separate text.
    pub(super) fn backticks(&mut self, quoted: bool, atoms: &mut Vec<Atom>) -> Parsed<()> {
        let at = self.at;
        self.skip(1);
        let mut text = String::new();
        loop {
            match self.char() {
                None => return self.syntax_error("a backtick that never closes"),
                Some('`') => break,
                Some('\\') => match self.char() {
                    Some(c) if "$`\\".contains(c) || (quoted && c == '"') => text.push(c),
                    Some(c) => text.extend(['\\', c]),
                    None => return self.syntax_error("a backtick that never closes"),
                },
                Some(c) => text.push(c),
            }
        }
        let origin = self.offset_in_line(at);
        self.nested(|grammar| {
            parse_into(&text, grammar.depth, Some(origin), grammar.found);
            Ok(())
        })?;
        atoms.push(Atom::Expansion { at, end: self.at, quoted });
        Ok(())
    }

    /// Parses `${ … }`.
    fn parameter(&mut self, quoted: bool) -> Parsed<()> {
        self.skip(2);
        if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            return self.syntax_error("a substitution that only new shells know");
        }
        let mut scratch = Vec::new();
        loop {
            match self.peek() {
                None => return self.syntax_error("an expansion that never closes"),
                Some(b'}') => {
                    self.skip(1);
                    return Ok(());
                }
                Some(b'\\') => {
                    self.skip(1);
                    self.char();
                }
                Some(b'\'') if quoted => {
                    return self.syntax_error("a quote in a quoted expansion");
                }
                Some(b'\'') => {
                    self.skip(1);
                    let rest = self.rest();
                    let Some(length) = rest.find('\'') else {
                        return self.syntax_error("a quote that never closes");
                    };
                    if rest.get(..length).unwrap_or_default().contains(['$', '`']) {
                        self.mark_unparsed(self.at, "a quoted expansion in an expansion");
                    }
                    self.skip(length.saturating_add(1));
                }
                Some(b'"') => self.nested(|grammar| grammar.double(&mut scratch))?,
                Some(b'`') => self.backticks(quoted, &mut scratch)?,
                Some(b'$') if !quoted && self.byte(1) == Some(b'\'') => {
                    return self.syntax_error("a quote in an expansion");
                }
                Some(b'$') => self.dollar(quoted, &mut scratch)?,
                Some(b'<' | b'>') if !quoted && self.byte(1) == Some(b'(') => {
                    self.process(&mut scratch)?;
                }
                Some(_) => {
                    self.char();
                }
            }
        }
    }

    /// Parses `$[ … ]`.
    fn old_arithmetic(&mut self) -> Parsed<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                None => return self.syntax_error("an expansion that never closes"),
                Some(b']') if depth == 0 => {
                    self.skip(1);
                    return Ok(());
                }
                Some(b']') => {
                    depth = depth.saturating_sub(1);
                    self.skip(1);
                }
                Some(b'[') => {
                    depth = depth.saturating_add(1);
                    self.skip(1);
                }
                Some(b'\'' | b'"') => return self.syntax_error("a quote in arithmetic"),
                Some(_) => self.arithmetic_piece()?,
            }
        }
    }

    /// Returns whether the text from here to `))` is arithmetic and not commands in parentheses.
    ///
    /// Text whose parentheses the parser pairs differently, as in comments, makes each of these
    /// scans run to the end of the text. Once all scans together have read the text more often than
    /// its maximum nesting, it counts as unparsed.
    pub(super) fn is_arithmetic(&mut self, from: usize) -> bool {
        let bytes = self.src.as_bytes();
        let (mut at, mut depth) = (from, 0_usize);
        let mut quote = None;
        while let Some(&b) = bytes.get(at) {
            let Some(ahead) = self.ahead.checked_sub(1) else {
                self.mark_unparsed(from, "more parentheses than are followed");
                return false;
            };
            self.ahead = ahead;
            at = at.saturating_add(1);
            match (quote, b) {
                (_, b'\\') if quote != Some(b'\'') => at = at.saturating_add(1),
                (Some(open), _) if b == open => quote = None,
                (Some(_), _) => {}
                (None, b'\'' | b'"' | b'`') => quote = Some(b),
                (None, b'(') => depth = depth.saturating_add(1),
                (None, b')') if depth == 0 => return bytes.get(at) == Some(&b')'),
                (None, b')') => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        false
    }

    /// Parses arithmetic up to its `))`; it is expanded like double-quoted text.
    pub(super) fn arithmetic(&mut self) -> Parsed<()> {
        let mut depth = 0_usize;
        let is_operand =
            |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || b"_./~".contains(&b));
        loop {
            if matches!(self.peek(), Some(b' ' | b'\t')) {
                // Two adjacent operands: other shells run them as a command in parentheses.
                let before =
                    self.at.checked_sub(1).and_then(|at| self.src.as_bytes().get(at).copied());
                self.blanks();
                if is_operand(before) && is_operand(self.peek()) {
                    return self.syntax_error("words in arithmetic");
                }
                continue;
            }
            match self.peek() {
                None => return self.syntax_error("arithmetic that never ends"),
                Some(b')') if depth == 0 => return self.expect("))", "arithmetic that never ends"),
                Some(b')') => {
                    depth = depth.saturating_sub(1);
                    self.skip(1);
                }
                Some(b'(') => {
                    depth = depth.saturating_add(1);
                    self.skip(1);
                }
                // Depending on the shell, the text after these characters can be commands or be
                // expanded.
                Some(b'\'' | b'"' | b'#' | b'\n') => {
                    return self.syntax_error("a quote in arithmetic");
                }
                Some(_) => self.arithmetic_piece()?,
            }
        }
    }

    fn arithmetic_piece(&mut self) -> Parsed<()> {
        match self.peek() {
            Some(b'\\') => return self.syntax_error("a backslash in arithmetic"),
            Some(b';') => {
                // A semicolon belongs to the head of a `for` loop; elsewhere the text is not
                // arithmetic.
                self.skip(1);
            }
            Some(b'$') => self.dollar(true, &mut Vec::new())?,
            Some(b'`') => self.backticks(true, &mut Vec::new())?,
            _ => {
                self.char();
            }
        }
        Ok(())
    }
}
