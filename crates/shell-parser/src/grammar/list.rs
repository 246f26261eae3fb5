//! Lists and pipelines.

use super::{Input, Parsed, Parser, Part, PartKind};

/// Words that end a list because the surrounding compound command continues.
const CLOSERS: [&str; 8] = ["}", "then", "elif", "else", "fi", "do", "done", "esac"];

/// Bash waits for the next line or rejects this one.
const NOTHING_AFTER: &str = "an operator with nothing after it";

impl Parser<'_, '_> {
    /// Parses commands up to the end of the list, which is not consumed: a closing word or
    /// parenthesis, the end of a case, or the end of the text.
    pub(super) fn list(&mut self) -> Parsed<()> {
        let mut goes_on = false;
        loop {
            self.lines()?;
            match self.peek() {
                None | Some(b')') if goes_on => return self.syntax_error(NOTHING_AFTER),
                None | Some(b')') => return Ok(()),
                Some(b';') => {
                    if matches!(self.byte(1), Some(b';' | b'&')) {
                        return Ok(());
                    }
                    return self.syntax_error("a semicolon after nothing");
                }
                _ => {}
            }
            if CLOSERS.contains(&self.keyword()) {
                return if goes_on { self.syntax_error(NOTHING_AFTER) } else { Ok(()) };
            }
            self.pipeline()?;
            goes_on = self.separator()?;
        }
    }

    /// Parses the operator between two pipelines; returns `true` if another pipeline must follow.
    fn separator(&mut self) -> Parsed<bool> {
        self.blanks();
        let joins = matches!(
            (self.peek(), self.byte(1)),
            (Some(b'&'), Some(b'&')) | (Some(b'|'), Some(b'|'))
        );
        match (self.peek(), self.byte(1)) {
            (None | Some(b')' | b'\n'), _) | (Some(b';'), Some(b';' | b'&')) => return Ok(false),
            _ if joins => self.skip(2),
            (Some(b'&' | b';'), _) => self.skip(1),
            _ => return self.syntax_error("an operator that does not belong here"),
        }
        if self.is_next("\\\n") {
            // Bash joins the lines first, which can change the operator.
            let after = self.byte(2);
            if matches!(after, Some(b'&' | b'|' | b';')) {
                return self.syntax_error("an operator over two lines");
            }
        }
        Ok(joins)
    }

    fn pipeline(&mut self) -> Parsed<()> {
        let mut input = Input::Inherited;
        loop {
            self.lines()?;
            self.prefixes();
            let first = self.found.parts.len();
            self.command()?;
            input = pipe(self.found.parts.get_mut(first..).unwrap_or_default(), input);
            self.blanks();
            if self.peek() != Some(b'|') || self.byte(1) == Some(b'|') {
                return Ok(());
            }
            self.skip(1);
            if self.is_next("\\\n") {
                return self.syntax_error("an operator over two lines");
            }
            self.take("&");
        }
    }

    /// Parses `!`, and `time` before anything except a simple command.
    fn prefixes(&mut self) {
        loop {
            self.blanks();
            match self.keyword() {
                "!" => self.skip(1),
                "time" if self.is_timed_group() => {
                    self.skip(4);
                    self.blanks();
                    if self.keyword() == "-p" {
                        self.skip(2);
                    }
                }
                _ => return,
            }
        }
    }

    /// Returns whether `time` precedes anything except a simple command.
    fn is_timed_group(&mut self) -> bool {
        let from = self.at;
        self.skip(4);
        self.blanks();
        if self.keyword() == "-p" {
            self.skip(2);
            self.blanks();
        }
        let is_group = self.peek() == Some(b'(')
            || matches!(
                self.keyword(),
                "{" | "!"
                    | "[["
                    | "if"
                    | "for"
                    | "while"
                    | "until"
                    | "case"
                    | "select"
                    | "function"
                    | "coproc"
            );
        self.at = from;
        is_group
    }
}

/// Sets the input of the parts of one command of a pipeline, and returns the input of the next
/// command: the output of `echo` and `printf` is known.
fn pipe(parts: &mut [Part], input: Input) -> Input {
    for part in parts.iter_mut() {
        part.input = part.input.or(input);
    }
    let prints = |part: &Part| match &part.what {
        PartKind::Command(words) => {
            let name = words.first().and_then(|word| word.text());
            matches!(name, Some("echo" | "printf"))
                && words.iter().all(|word| word.text().is_some())
        }
        PartKind::Assignment | PartKind::Redirection { .. } => false,
    };
    match parts {
        [only] if prints(only) => Input::Known,
        _ => Input::Unknown,
    }
}
