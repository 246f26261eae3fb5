//! Words and quoting.

use super::{Parsed, Parser};
use crate::ansi_c_quoting;
use crate::token::{Atom, Token};

impl Parser<'_, '_> {
    /// Parses a word; an empty one is an error.
    pub(super) fn word(&mut self) -> Parsed<Token> {
        let at = self.at;
        let plain = self.rest().bytes().take_while(|b| is_plain(*b)).count();
        self.skip(plain);
        if self.is_end() {
            if plain == 0 {
                return self.syntax_error("a word that is not there");
            }
            return Ok(Token { at, end: self.at, atoms: None });
        }
        let mut atoms: Vec<Atom> = Vec::with_capacity(plain.saturating_add(16));
        atoms.extend(self.src.get(at..self.at).unwrap_or_default().chars().map(Atom::Bare));
        while !self.is_end() {
            self.piece(&mut atoms)?;
        }
        if self.at == at {
            return self.syntax_error("a word that is not there");
        }
        Ok(Token { at, end: self.at, atoms: Some(atoms) })
    }

    /// Returns whether the word ends here.
    pub(super) fn is_end(&self) -> bool {
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')') => true,
            Some(b'<' | b'>') => self.byte(1) != Some(b'('),
            Some(_) => false,
        }
    }

    /// Parses the next piece of a word outside quotes.
    pub(super) fn piece(&mut self, atoms: &mut Vec<Atom>) -> Parsed<()> {
        match self.peek() {
            Some(b'\\') => self.escaped(atoms),
            Some(b'\'') => self.single(atoms),
            Some(b'"') => self.nested(|grammar| grammar.double(atoms)),
            Some(b'`') => self.backticks(false, atoms),
            Some(b'$') => self.dollar_word(atoms),
            Some(b'<' | b'>') => self.process(atoms),
            _ => {
                atoms.extend(self.char().map(Atom::Bare));
                Ok(())
            }
        }
    }

    fn escaped(&mut self, atoms: &mut Vec<Atom>) -> Parsed<()> {
        self.skip(1);
        match self.char() {
            Some('\n') => {}
            Some(c) => atoms.push(Atom::Quoted(c)),
            None => {
                self.mark_unparsed(self.at, "a backslash at the end");
                atoms.push(Atom::Quoted('\\'));
            }
        }
        Ok(())
    }

    fn single(&mut self, atoms: &mut Vec<Atom>) -> Parsed<()> {
        self.skip(1);
        let Some(length) = self.rest().find('\'') else {
            return self.syntax_error("a quote that never closes");
        };
        let text = self.rest().get(..length).unwrap_or_default();
        push_quoted(text, atoms);
        self.skip(length.saturating_add(1));
        Ok(())
    }

    /// Parses `$` outside double quotes, where `$'…'` and `$"…"` are quotes.
    fn dollar_word(&mut self, atoms: &mut Vec<Atom>) -> Parsed<()> {
        match self.byte(1) {
            Some(b'\'') => self.ansi_c(atoms),
            Some(b'"') => {
                self.skip(1);
                self.nested(|grammar| grammar.double(atoms))
            }
            _ => self.dollar(false, atoms),
        }
    }

    fn ansi_c(&mut self, atoms: &mut Vec<Atom>) -> Parsed<()> {
        let at = self.at;
        self.skip(2);
        let mut escaped = false;
        let Some(length) = self.rest().bytes().position(|b| {
            let closes = b == b'\'' && !escaped;
            escaped = b == b'\\' && !escaped;
            closes
        }) else {
            return self.syntax_error("a quote that never closes");
        };
        let text = self.rest().get(..length).unwrap_or_default();
        self.skip(length.saturating_add(1));
        match ansi_c_quoting::decode(text) {
            Some(text) => push_quoted(&text, atoms),
            None => {
                self.mark_unparsed(at, "an escape that is not the same in every shell");
                atoms.push(Atom::Expansion { at, end: self.at, quoted: true });
            }
        }
        Ok(())
    }

    /// Parses `"…"`.
    pub(super) fn double(&mut self, atoms: &mut Vec<Atom>) -> Parsed<()> {
        self.skip(1);
        atoms.push(Atom::Empty);
        loop {
            match self.peek() {
                None => return self.syntax_error("a quote that never closes"),
                Some(b'"') => {
                    self.skip(1);
                    return Ok(());
                }
                Some(b'\\') => {
                    self.skip(1);
                    match self.peek() {
                        Some(b'\n') => self.skip(1),
                        Some(b'$' | b'`' | b'"' | b'\\') => {
                            atoms.extend(self.char().map(Atom::Quoted));
                        }
                        _ => atoms.push(Atom::Quoted('\\')),
                    }
                }
                Some(b'`') => self.backticks(true, atoms)?,
                Some(b'$') => self.dollar(true, atoms)?,
                Some(_) => atoms.extend(self.char().map(Atom::Quoted)),
            }
        }
    }
}

fn push_quoted(text: &str, atoms: &mut Vec<Atom>) {
    atoms.push(Atom::Empty);
    atoms.extend(text.chars().map(Atom::Quoted));
}

/// Returns whether a byte is literal at any position of a word.
fn is_plain(b: u8) -> bool {
    !matches!(
        b,
        b' ' | b'\t'
            | b'\n'
            | b';'
            | b'&'
            | b'|'
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'\\'
            | b'\''
            | b'"'
            | b'`'
            | b'$'
            | b'{'
            | b'*'
            | b'?'
            | b'['
    )
}
