//! Compound commands: groups, loops, conditionals and functions.

use super::{Parsed, Parser, PartKind};
use crate::command_line::AllowBlocker;

impl Parser<'_, '_> {
    /// Parses one command of a pipeline.
    pub(super) fn command(&mut self) -> Parsed<()> {
        match self.keyword() {
            "in" | "}" | "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "]]" => {
                self.syntax_error("a reserved word that does not belong here")
            }
            "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[" | "function"
            | "coproc" => self.nested(Self::compound),
            "" if self.peek() == Some(b'(') => self.nested(Self::compound),
            _ => self.simple(),
        }
    }

    fn compound(&mut self) -> Parsed<()> {
        let (from, first) = (self.at, self.found.parts.len());
        match self.keyword() {
            "" if self.is_next("((") && self.is_arithmetic(self.at.saturating_add(2)) => {
                self.arithmetic_command()?;
            }
            "" if self.peek() == Some(b'(') => self.group(1, ")")?,
            "{" => self.group(1, "}")?,
            "if" => self.condition()?,
            "while" | "until" => {
                self.skip(5);
                self.body()?;
            }
            "for" => {
                self.skip(3);
                self.for_loop()?;
            }
            "select" => {
                self.skip(6);
                self.for_loop()?;
            }
            "case" => self.case()?,
            "[[" => self.test_command()?,
            "function" => {
                self.skip(8);
                self.blanks();
                let name = self.word()?;
                return self.function(&name.value(self.src), name.end);
            }
            _ => return self.coprocess(),
        }
        self.redirections(from, first)
    }

    /// Parses `( … )` and `{ …; }`.
    fn group(&mut self, open: usize, close: &'static str) -> Parsed<()> {
        self.skip(open);
        self.list()?;
        self.close(close)
    }

    /// Accepts a closing word or parenthesis.
    fn close(&mut self, word: &'static str) -> Parsed<()> {
        if word == ")" || self.keyword() == word {
            return self.expect(word, "a group that never ends");
        }
        self.syntax_error("a group or a loop that never ends")
    }

    fn condition(&mut self) -> Parsed<()> {
        self.skip(2);
        self.list()?;
        self.close("then")?;
        loop {
            self.list()?;
            match self.keyword() {
                "elif" => {
                    self.skip(4);
                    self.list()?;
                    self.close("then")?;
                }
                "else" => self.skip(4),
                _ => return self.close("fi"),
            }
        }
    }

    /// Parses the condition and the body of a loop.
    fn body(&mut self) -> Parsed<()> {
        self.list()?;
        self.do_group()
    }

    fn do_group(&mut self) -> Parsed<()> {
        if self.keyword() == "{" {
            return self.group(1, "}");
        }
        self.close("do")?;
        self.list()?;
        self.close("done")
    }

    fn for_loop(&mut self) -> Parsed<()> {
        self.blanks();
        let from = self.at;
        if self.is_next("((") {
            self.arithmetic_command()?;
        } else {
            self.loop_words(from)?;
        }
        self.blanks();
        self.take(";");
        self.lines()?;
        self.do_group()
    }

    /// Parses `NAME in WORD…`.
    fn loop_words(&mut self, from: usize) -> Parsed<()> {
        let name = self.word()?;
        let name = name.bare(self.src).unwrap_or_default();
        let mut blocks = Vec::new();
        if is_sensitive(&name) {
            blocks.push(AllowBlocker::Assignment(name));
        }
        self.lines()?;
        if self.keyword() == "in" {
            self.skip(2);
            self.blanks();
            while !matches!(
                self.peek(),
                None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
            ) {
                let word = self.word()?;
                if word.expands() {
                    blocks.push(AllowBlocker::Expansion(word.written(self.src).to_owned()));
                }
                self.blanks();
            }
        }
        if !blocks.is_empty() {
            self.add(from, self.at, PartKind::Assignment, blocks);
        }
        Ok(())
    }

    fn case(&mut self) -> Parsed<()> {
        let from = self.at;
        self.skip(4);
        self.blanks();
        let subject = self.word()?;
        self.bare_expansion(from, &subject);
        self.lines()?;
        if self.keyword() != "in" {
            return self.syntax_error("a case without its word `in`");
        }
        self.skip(2);
        loop {
            self.lines()?;
            if self.keyword() == "esac" {
                self.skip(4);
                return Ok(());
            }
            self.patterns()?;
            self.list()?;
            if !(self.take(";;&") || self.take(";;") || self.take(";&")) && self.keyword() != "esac"
            {
                return self.syntax_error("a case that never ends");
            }
        }
    }

    fn patterns(&mut self) -> Parsed<()> {
        self.take("(");
        loop {
            self.blanks();
            let from = self.at;
            let pattern = self.word()?;
            self.bare_expansion(from, &pattern);
            self.blanks();
            if self.take(")") {
                return Ok(());
            }
            self.expect("|", "a pattern that never ends")?;
        }
    }

    /// Adds an expansion outside every command as a separate part, so that rules that allow the
    /// commands cannot overlook it.
    pub(super) fn bare_expansion(&mut self, from: usize, word: &crate::token::Token) {
        if word.expands() {
            let block = AllowBlocker::Expansion(word.written(self.src).to_owned());
            self.add(from, word.end, PartKind::Assignment, vec![block]);
        }
    }

    /// Parses the rest of a function definition after its name.
    pub(super) fn function(&mut self, name: &crate::token::Value, end: usize) -> Parsed<()> {
        let Some(name) = name.text() else {
            return self.syntax_error("a function with a computed name");
        };
        self.found.defined.insert(name.to_owned());
        self.at = end;
        self.blanks();
        if self.take("(") {
            self.blanks();
            self.expect(")", "a function with parameters")?;
        }
        self.lines()?;
        match self.keyword() {
            "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[" => {}
            "" if self.peek() == Some(b'(') => {}
            _ => return self.syntax_error("a function without a body"),
        }
        self.nested(Self::command)
    }

    /// Parses `coproc [NAME] COMMAND`; it also sets variables.
    fn coprocess(&mut self) -> Parsed<()> {
        let from = self.at;
        self.skip(6);
        self.blanks();
        let start = self.at;
        let name = self.keyword();
        self.skip(name.len());
        self.blanks();
        let is_group = self.peek() == Some(b'(')
            || matches!(
                self.keyword(),
                "{" | "[[" | "if" | "for" | "while" | "until" | "case" | "select"
            );
        if !is_group || name.is_empty() {
            self.at = start;
        }
        self.add(
            from,
            start,
            PartKind::Assignment,
            vec![AllowBlocker::Assignment("COPROC".to_owned())],
        );
        self.nested(Self::command)
    }
}

/// Returns whether a loop variable may be one that a program or the shell uses. Loops do not export
/// their variable, and variables that programs use have uppercase names, except for proxy settings.
fn is_sensitive(name: &str) -> bool {
    name.is_empty()
        || name.contains("proxy")
        || name == "histchars"
        || !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}
