//! Commands of a sed script that run or write: `e`, `w`, `W`, and the flags `e` and `w` of `s`.
#![deny(clippy::indexing_slicing)]

use super::program_table::Act;

/// Returns the commands that a script runs and the files that it writes. A script that cannot be
/// parsed counts as running a program.
pub(super) fn actions(script: &str) -> Vec<(Act, &str)> {
    let mut reader = Script { rest: script, found: Vec::new() };
    if reader.commands().is_none() {
        reader.found.push((Act::Runs, ""));
    }
    reader.found
}

struct Script<'s> {
    rest: &'s str,
    found: Vec<(Act, &'s str)>,
}

impl<'s> Script<'s> {
    fn commands(&mut self) -> Option<()> {
        loop {
            self.skip(|c| c.is_whitespace() || ";{}".contains(c));
            if self.rest.is_empty() {
                return Some(());
            }
            self.address()?;
            self.command()?;
        }
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(is_skipped);
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..)?;
        Some(c)
    }

    /// Returns the text up to a character, which is consumed.
    fn until(&mut self, end: char) -> Option<&'s str> {
        let mut escaped = false;
        let at = self.rest.char_indices().find(|(_, c)| {
            let ends = *c == end && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        })?;
        let text = self.rest.get(..at.0)?;
        self.rest = self.rest.get(at.0.checked_add(end.len_utf8())?..)?;
        Some(text)
    }

    fn line(&mut self) -> &'s str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line.trim()
    }

    fn address(&mut self) -> Option<()> {
        loop {
            match self.rest.chars().next()? {
                '/' => {
                    self.next();
                    self.until('/')?;
                    self.skip(|c| c == 'I' || c == 'M');
                }
                '\\' => {
                    self.next();
                    let end = self.next()?;
                    self.until(end)?;
                    self.skip(|c| c == 'I' || c == 'M');
                }
                '0'..='9' | '$' | '+' | '~' => {
                    self.skip(|c| c.is_ascii_digit() || "$+~".contains(c));
                }
                _ => break,
            }
            self.skip(|c| c == ' ' || c == '\t');
            if !self.rest.starts_with(',') {
                break;
            }
            self.next();
            self.skip(|c| c == ' ' || c == '\t');
        }
        self.skip(|c| c == '!' || c == ' ' || c == '\t');
        Some(())
    }

    fn command(&mut self) -> Option<()> {
        match self.next()? {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x'
            | 'z' | 'F' => {}
            '#' | 'r' | 'R' | 'v' => {
                self.line();
            }
            'a' | 'i' | 'c' => while self.line().ends_with('\\') {},
            ':' | 'b' | 't' | 'T' => self.skip(|c| c != ';' && c != '\n' && c != '}'),
            'q' | 'Q' | 'l' | 'L' => self.skip(|c| c.is_ascii_digit() || c == ' '),
            'w' | 'W' => {
                let file = self.line();
                self.found.push((Act::Output, file));
            }
            'e' => {
                let command = self.line();
                self.found.push((Act::Command, command));
            }
            's' => self.substitution()?,
            'y' => {
                let end = self.next()?;
                self.until(end)?;
                self.until(end)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn substitution(&mut self) -> Option<()> {
        let end = self.next()?;
        self.until(end)?;
        let replacement = self.until(end)?;
        while let Some(flag) = self.rest.chars().next() {
            match flag {
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => {}
                'e' => self.found.push((Act::Command, replacement)),
                'w' => {
                    self.next();
                    let file = self.line();
                    self.found.push((Act::Output, file));
                    return Some(());
                }
                _ => return Some(()),
            }
            self.next();
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_only_edit_do_nothing_else() {
        for script in [
            "s/a/b/",
            "s/a/b/g;s|x|y|gi",
            "/x/d",
            "1,5p",
            "$!N",
            "1~2d",
            "/a/,/b/{s/x/y/;p}",
            "y/abc/def/",
            "s/we/we/",
            "/e/!s/w/e/2",
            "a\\\nwe run\n",
            "i hello e",
            ":a;N;$!ba;s/\\n/ /g",
            "\\,x,d",
            "10q",
            "# e x",
            "s,/,e,g",
            "/w x/p",
            "1!G;h;$!d",
        ] {
            assert_eq!(actions(script), [], "{script}");
        }
    }

    #[test]
    fn commands_that_run_or_write_are_found() {
        for (script, expected) in [
            ("1e rm x", (Act::Command, "rm x")),
            ("e", (Act::Command, "")),
            ("s/.*/rm x/e", (Act::Command, "rm x")),
            ("s/a/rm/ge", (Act::Command, "rm")),
            ("w out", (Act::Output, "out")),
            ("/x/w out", (Act::Output, "out")),
            ("s/a/b/w out", (Act::Output, "out")),
            ("s/a/b/gw out", (Act::Output, "out")),
            ("p;{p;e ls\n}", (Act::Command, "ls")),
            ("s|a|b|;W out", (Act::Output, "out")),
            ("k", (Act::Runs, "")),
            ("s/a", (Act::Runs, "")),
        ] {
            assert_eq!(actions(script), [expected], "{script}");
        }
    }
}
