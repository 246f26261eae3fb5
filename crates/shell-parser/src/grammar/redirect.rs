//! Redirections.

use super::heredoc::Pending;
use super::{Input, Parsed, Parser, PartKind};
use crate::command_line::{AllowBlocker, Word};
use crate::token::Token;

/// Longer operators first.
const OPERATORS: [&str; 12] =
    ["&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"];

impl Parser<'_, '_> {
    /// Parses redirections after a group. Their blockers apply to every command since `first`.
    pub(super) fn redirections(&mut self, from: usize, first: usize) -> Parsed<()> {
        let last = self.found.parts.len();
        let mut blocks = Vec::new();
        let mut input = Input::Inherited;
        loop {
            self.blanks();
            match self.peek() {
                Some(b'<' | b'>') if self.byte(1) != Some(b'(') => {
                    input = self.redirect(None, &mut blocks)?.or(input);
                }
                Some(b'&') if self.is_next("&>") => {
                    self.redirect(None, &mut blocks)?;
                }
                Some(b'0'..=b'9' | b'{') => {
                    let word = self.word()?;
                    if !self.is_descriptor(&word) {
                        return self.syntax_error("a word after a group");
                    }
                    input = self.redirect(Some(&word), &mut blocks)?.or(input);
                }
                _ => break,
            }
        }
        for part in self.found.parts.get_mut(first..last).unwrap_or_default() {
            part.input = part.input.or(input);
        }
        // One blocker suffices as a reason, and a group may be large.
        if let Some(block) = blocks.first() {
            let inside = self.found.parts.get_mut(first..last).unwrap_or_default();
            for part in inside.iter_mut().filter(|part| matches!(part.what, PartKind::Command(_))) {
                part.blocks.push(block.abridged());
            }
            if matches!(block, AllowBlocker::Expansion(_) | AllowBlocker::Assignment(_)) {
                self.add(from, self.at, PartKind::Assignment, blocks);
            }
        }
        Ok(())
    }

    /// Parses one redirection; `descriptor` was already parsed. Returns the new standard input.
    pub(super) fn redirect(
        &mut self,
        descriptor: Option<&Token>,
        blocks: &mut Vec<AllowBlocker>,
    ) -> Parsed<Input> {
        let is_stdin = descriptor.is_none_or(|word| word.written(self.src) == "0");
        let input = self.redirect_any(descriptor, blocks)?;
        Ok(if is_stdin { input } else { Input::Inherited })
    }

    /// Like [`Self::redirect`], but assumes that the descriptor is standard input.
    fn redirect_any(
        &mut self,
        descriptor: Option<&Token>,
        blocks: &mut Vec<AllowBlocker>,
    ) -> Parsed<Input> {
        let from = descriptor.map_or(self.at, |word| word.at);
        if let Some(word) = descriptor.filter(|word| word.written(self.src).starts_with('{')) {
            blocks.push(AllowBlocker::Assignment(word.written(self.src).to_owned()));
        }
        let Some(operator) = OPERATORS.into_iter().find(|operator| self.take(operator)) else {
            return self.syntax_error("no redirection");
        };
        if self.is_next("\\\n") {
            self.mark_unparsed(self.at, "an operator over two lines");
        }
        self.blanks();
        match operator {
            "<<" | "<<-" => {
                self.heredoc_begins(operator == "<<-")?;
                return Ok(Input::Known);
            }
            "<<<" => {
                let word = self.word()?;
                if word.expands() {
                    blocks.push(AllowBlocker::Expansion(word.written(self.src).to_owned()));
                }
                let value = word.value(self.src);
                self.found.inputs.extend(value.text().map(ToOwned::to_owned));
                return Ok(if word.expands() { Input::Unknown } else { Input::Known });
            }
            _ => {}
        }
        let word = self.word()?;
        let mut target = word.value(self.src);
        if is_user_home(word.written(self.src)) {
            let written = word.written(self.src).to_owned();
            blocks.push(AllowBlocker::Expansion(written.clone()));
            target.word = Word::Unknown(written);
        }
        if matches!(operator, "<&" | ">&") {
            match target.text() {
                Some(text) if is_copy(text) => return Ok(Input::Inherited),
                Some(_) if operator == "<&" => {
                    self.mark_unparsed(word.at, "a descriptor that is none");
                }
                _ => {}
            }
        }
        if braces_or_pattern(&word, self.src) {
            self.mark_unparsed(word.at, "a pattern as a file to redirect");
        }
        if word.expands() {
            blocks.push(AllowBlocker::Expansion(word.written(self.src).to_owned()));
        }
        let input = opened_input(operator, &target.word);
        if target.text() == Some("/dev/null") {
            return Ok(input);
        }
        let text = word.written(self.src).to_owned();
        let is_network = text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/");
        let writes = !matches!(operator, "<" | "<&") || is_network;
        let mut own = Vec::new();
        if writes {
            own.push(AllowBlocker::Writes(text));
            blocks.extend(own.iter().cloned());
        }
        if word.expands() {
            own.push(AllowBlocker::Expansion(word.written(self.src).to_owned()));
        }
        if operator == "<>" {
            let target = target.word.clone();
            self.add(from, word.end, PartKind::Redirection { writes: false, target }, Vec::new());
        }
        self.add(from, word.end, PartKind::Redirection { writes, target: target.word }, own);
        Ok(input)
    }

    /// Registers `<< WORD`: the text starts on the next line.
    fn heredoc_begins(&mut self, strip: bool) -> Parsed<()> {
        let word = self.word()?;
        let value = word.value(self.src);
        let Word::Known(delimiter) = value.word else {
            return self.syntax_error("a here-document whose end is computed");
        };
        if word.written(self.src).contains(['$', '`', '\n']) || delimiter.contains('\n') {
            return self.syntax_error("a here-document whose end is not plain");
        }
        let quoted = word.is_quoted();
        self.pending.push(Pending { delimiter, strip, quoted });
        Ok(())
    }
}

/// Returns the new standard input after a redirection opens a file.
fn opened_input(operator: &str, target: &Word) -> Input {
    match (operator, target) {
        ("<" | "<>", Word::Known(path)) => match path.strip_prefix("/dev/") {
            Some(device) if device != "null" => Input::Unknown,
            _ => Input::Known,
        },
        ("<" | "<>", Word::Unknown(_)) | ("<&", _) => Input::Unknown,
        _ => Input::Inherited,
    }
}

/// Returns whether the word is `~ann`, `~+` or `~-`: only the shell knows the directory.
fn is_user_home(written: &str) -> bool {
    written.strip_prefix('~').is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
}

/// Returns whether the text is `1`, `-`, `3-` or similar.
fn is_copy(text: &str) -> bool {
    let digits = text.strip_suffix('-').unwrap_or(text);
    text == "-" || (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn braces_or_pattern(word: &Token, src: &str) -> bool {
    let value = word.value(src);
    let is_pattern = value.text().is_none() && !value.expands;
    is_pattern || word.atoms.as_deref().is_some_and(|a| a.contains(&crate::token::Atom::Bare('{')))
}
