//! Simple commands: assignments, words and redirections.

use super::{Input, Parsed, Parser, Part, PartKind};
use crate::command_line::AllowBlocker;
use crate::token::{Token, Value};
use crate::{brace_expansion, token};

/// The parts of a simple command while it is parsed.
#[derive(Default)]
pub(super) struct Simple {
    pub(super) words: Vec<Value>,
    pub(super) blocks: Vec<AllowBlocker>,
    input: Input,
    assigns: bool,
    /// Whether the command is `export` or similar, so that its arguments may be array assignments.
    declares: bool,
}

impl Parser<'_, '_> {
    pub(super) fn simple(&mut self) -> Parsed<()> {
        let from = self.at;
        let mut simple = Simple::default();
        let mut end = from;
        let mut only_one = None;
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b')') => break,
                Some(b'&') if !self.is_next("&>") => break,
                Some(b'&') => {
                    self.redirect(None, &mut simple.blocks)?;
                }
                Some(b'<' | b'>') if self.byte(1) != Some(b'(') => {
                    simple.input = self.redirect(None, &mut simple.blocks)?.or(simple.input);
                }
                Some(b'(') => match only_one.take() {
                    Some(name) if simple.words.len() == 1 && !simple.assigns => {
                        let name: Token = name;
                        return self.function(&name.value(self.src), name.end);
                    }
                    _ => return self.syntax_error("a parenthesis that does not belong here"),
                },
                Some(_) => {
                    let word = self.word()?;
                    if self.is_descriptor(&word) {
                        let input = self.redirect(Some(&word), &mut simple.blocks)?;
                        simple.input = input.or(simple.input);
                    } else {
                        only_one = simple.words.is_empty().then(|| word.clone());
                        self.add_word(&word, &mut simple)?;
                    }
                }
            }
            end = self.at;
        }
        if end == from {
            return self.syntax_error("a command that is not there");
        }
        self.finish(from, end, simple);
        Ok(())
    }

    /// Returns whether the word is digits or `{name}` directly before a redirection.
    pub(super) fn is_descriptor(&self, word: &Token) -> bool {
        if !matches!(self.peek(), Some(b'<' | b'>')) || word.end != self.at {
            return false;
        }
        let text = word.written(self.src);
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(is_name_byte);
        text.bytes().all(|b| b.is_ascii_digit())
            || text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).is_some_and(is_name)
    }

    fn add_word(&mut self, word: &Token, simple: &mut Simple) -> Parsed<()> {
        if simple.words.is_empty() || simple.declares {
            let name = assigned(word, self.src);
            if let Some(name) = &name {
                if self.peek() == Some(b'(') && self.ends_with_equals(word) {
                    self.array(simple)?;
                }
                if simple.words.is_empty() {
                    simple.assigns = true;
                    simple.blocks.push(AllowBlocker::Assignment(name.clone()));
                    self.note_expansion(word, &mut simple.blocks);
                    return Ok(());
                }
            } else if simple.words.is_empty() && self.is_open_subscript(word) {
                return self.syntax_error("a subscript that is not closed");
            }
        }
        self.note_expansion(word, &mut simple.blocks);
        self.expand(word, simple);
        if simple.words.len() == 1 {
            let name = simple.words.first().and_then(Value::text);
            simple.declares = matches!(
                name,
                Some(
                    "export"
                        | "declare"
                        | "typeset"
                        | "readonly"
                        | "local"
                        | "alias"
                        | "eval"
                        | "let"
                )
            );
        }
        Ok(())
    }

    fn ends_with_equals(&self, word: &Token) -> bool {
        word.end == self.at && word.written(self.src).ends_with('=')
    }

    /// Returns whether it is a `NAME[` without its end: bash parses blanks and operators as part of
    /// the subscript.
    fn is_open_subscript(&self, word: &Token) -> bool {
        let text = word.written(self.src);
        let name = text.bytes().take_while(|b| is_name_byte(*b)).count();
        let rest = text.get(name..).unwrap_or_default();
        name > 0 && rest.starts_with('[') && !rest.contains(']')
    }

    fn note_expansion(&mut self, word: &Token, blocks: &mut Vec<AllowBlocker>) {
        if word.expands() {
            blocks.push(AllowBlocker::Expansion(word.written(self.src).to_owned()));
        }
    }

    /// Adds the words to which a word expands.
    fn expand(&mut self, word: &Token, simple: &mut Simple) {
        let has_brace = word.written(self.src).contains('{');
        let Some(atoms) = word.atoms.as_ref().filter(|_| has_brace) else {
            simple.words.push(word.value(self.src));
            return;
        };
        match brace_expansion::expand(atoms).as_deref() {
            Ok([_]) => simple.words.push(word.value(self.src)),
            Ok(words) => {
                let values = words.iter().map(|atoms| token::value(atoms, self.src));
                // An expansion result with no characters or quotes is not a word.
                simple.words.extend(
                    values
                        .zip(words)
                        .filter(|(_, atoms)| !atoms.is_empty())
                        .map(|(value, _)| value),
                );
            }
            Err(_) => {
                self.mark_unparsed(word.at, "a brace expansion to too many words");
                simple.words.push(word.value(self.src));
            }
        }
    }

    /// Parses `NAME=( … )`.
    fn array(&mut self, simple: &mut Simple) -> Parsed<()> {
        self.skip(1);
        self.nested(|grammar| {
            loop {
                grammar.lines()?;
                if grammar.take(")") {
                    return Ok(());
                }
                let word = grammar.word()?;
                grammar.note_expansion(&word, &mut simple.blocks);
            }
        })
    }

    fn finish(&mut self, from: usize, end: usize, mut simple: Simple) {
        // Redirections are separate parts; a command that consists only of them needs none.
        let what = if !simple.words.is_empty() {
            PartKind::Command(std::mem::take(&mut simple.words))
        } else if simple.assigns
            || simple.blocks.iter().any(|b| matches!(b, AllowBlocker::Expansion(_)))
        {
            PartKind::Assignment
        } else {
            return;
        };
        self.add(from, end, what, simple.blocks);
        if let Some(part) = self.found.parts.last_mut() {
            part.input = simple.input;
        }
    }

    /// Adds a part.
    pub(super) fn add(
        &mut self,
        from: usize,
        end: usize,
        what: PartKind,
        blocks: Vec<AllowBlocker>,
    ) {
        let text = self.src.get(from..end).unwrap_or_default().trim_end().to_owned();
        let at = self.offset_in_line(from);
        self.found.parts.push(Part { at, text, what, input: Input::Inherited, blocks });
    }
}

pub(super) fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// Returns the variable that a word before a command assigns.
fn assigned(word: &Token, src: &str) -> Option<String> {
    let text = word.written(src);
    let name = text.bytes().take_while(|b| is_name_byte(*b)).count();
    if name == 0 || text.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        // A name continued on the next line.
        return joined_name(word);
    }
    let rest = text.get(name..).unwrap_or_default();
    let after = if rest.starts_with('[') {
        rest.find("]=")
            .or_else(|| rest.find("]+="))
            .and_then(|i| rest.get(i.saturating_add(1)..))?
    } else {
        rest
    };
    if after.starts_with('=') || after.starts_with("+=") {
        return text.get(..name).map(ToOwned::to_owned);
    }
    joined_name(word)
}

/// Returns the assigned variable, for a word with a line continuation in its name.
fn joined_name(word: &Token) -> Option<String> {
    let bare = |atom: &token::Atom| match atom {
        token::Atom::Bare(c) => Some(*c),
        _ => None,
    };
    let name: String =
        word.atoms.as_ref()?.iter().map_while(bare).take_while(|c| *c != '=').collect();
    let has_equals =
        word.atoms.as_ref()?.get(name.chars().count()) == Some(&token::Atom::Bare('='));
    let plain = name.strip_suffix('+').unwrap_or(&name);
    let is_name =
        plain.bytes().all(is_name_byte) && !plain.starts_with(|c: char| c.is_ascii_digit());
    (has_equals && is_name && !plain.is_empty()).then(|| plain.to_owned())
}
