//! Conditional and arithmetic commands: `[[ … ]]` and `(( … ))`.

use super::{Parsed, Parser, PartKind};
use crate::command_line::{AllowBlocker, Word};
use crate::token::{Atom, Value};

impl Parser<'_, '_> {
    /// Parses `(( … ))`, which may set variables.
    pub(super) fn arithmetic_command(&mut self) -> Parsed<()> {
        let from = self.at;
        self.skip(2);
        self.nested(Self::arithmetic)?;
        let text = self.src.get(from..self.at).unwrap_or_default().to_owned();
        self.add(from, self.at, PartKind::Assignment, vec![AllowBlocker::Assignment(text)]);
        Ok(())
    }

    /// Parses `[[ … ]]`: a shell command with its own grammar.
    pub(super) fn test_command(&mut self) -> Parsed<()> {
        let from = self.at;
        self.skip(2);
        let known = |text: &str| Value {
            word: Word::Known(text.to_owned()),
            literal: Vec::new(),
            expands: false,
        };
        let (mut words, mut blocks) = (vec![known("[[")], Vec::new());
        loop {
            self.lines()?;
            if self.keyword() == "]]" {
                self.skip(2);
                words.push(known("]]"));
                break;
            }
            // `<(` begins a process substitution here too, not a comparison.
            let is_process = self.is_next("<(") || self.is_next(">(");
            let mut operators = ["&&", "||", "(", ")", "<", ">"].into_iter();
            let operator = operators.find(|op| !is_process && self.take(op));
            if let Some(operator) = operator {
                words.push(known(operator));
                continue;
            }
            let at = self.at;
            let is_pattern = words
                .last()
                .and_then(Value::text)
                .is_some_and(|text| matches!(text, "=~" | "=" | "==" | "!="));
            let word = if is_pattern { self.pattern()? } else { self.word()? };
            let value = word.value(self.src);
            let text = self.src.get(at..self.at).unwrap_or_default();
            if word.expands() || text.contains("$(") || text.contains('`') {
                blocks.push(AllowBlocker::Expansion(text.to_owned()));
            }
            words.push(value);
        }
        self.add(from, self.at, PartKind::Command(words), blocks);
        Ok(())
    }

    /// Parses the right side of a comparison, in which parentheses and bars belong to the pattern.
    fn pattern(&mut self) -> Parsed<crate::token::Token> {
        let at = self.at;
        let (mut atoms, mut depth) = (Vec::new(), 0_usize);
        loop {
            match self.peek() {
                None => return self.syntax_error("a test that never ends"),
                Some(b' ' | b'\t') if depth == 0 => break,
                Some(b'\n' | b';' | b'&') => return self.syntax_error("an operator in a pattern"),
                Some(b'(') => depth = depth.saturating_add(1),
                Some(b')') if depth == 0 => break,
                Some(b')') => depth = depth.saturating_sub(1),
                Some(b'<' | b'>') => return self.syntax_error("an operator in a pattern"),
                Some(b'|') if depth == 0 && self.byte(1) == Some(b'|') => break,
                Some(b' ' | b'\t' | b'|') => {}
                Some(_) => {
                    self.piece(&mut atoms)?;
                    continue;
                }
            }
            atoms.extend(self.char().map(Atom::Quoted));
        }
        if self.at == at {
            return self.syntax_error("a comparison without its right side");
        }
        Ok(crate::token::Token { at, end: self.at, atoms: Some(atoms) })
    }
}
