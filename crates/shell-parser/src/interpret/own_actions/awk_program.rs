//! Statements of an awk program that run or write: `system`, pipes, and the redirection of `print`.
#![deny(clippy::indexing_slicing)]

use super::program_table::Act;

/// Files to which `print` may write without changing a file.
const NO_FILES: [&str; 3] = ["\"/dev/stderr\"", "\"/dev/stdout\"", "\"/dev/null\""];

/// Returns the actions of a program besides printing.
pub(super) fn actions(program: &str) -> Vec<Act> {
    let mut reader = Program { rest: program, depth: 0, prints_at: None, is_operand: false };
    let mut found = Vec::new();
    // A name in a string counts too: gawk calls functions by the value of a variable.
    if program.contains("system") {
        found.push(Act::Code);
    }
    while !reader.rest.is_empty() {
        found.extend(reader.step());
    }
    found
}

struct Program<'p> {
    rest: &'p str,
    depth: usize,
    /// The nesting level of a `print` statement.
    prints_at: Option<usize>,
    /// Whether an operand precedes; if so, `/` divides.
    is_operand: bool,
}

impl Program<'_> {
    fn step(&mut self) -> Option<Act> {
        let c = self.rest.chars().next()?;
        if c.is_alphanumeric() || c == '_' {
            self.word();
            return None;
        }
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        let was_operand = self.is_operand;
        self.is_operand = matches!(c, ')' | ']' | '"') || (was_operand && (c == ' ' || c == '\t'));
        match c {
            '"' => self.quoted('"'),
            '/' if !was_operand => {
                self.is_operand = true;
                return self.regex();
            }
            '#' => self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest),
            '(' | '[' => self.depth = self.depth.saturating_add(1),
            ')' | ']' => self.depth = self.depth.saturating_sub(1),
            ';' | '{' | '}' | '\n' => self.prints_at = None,
            '@' => return Some(Act::Runs),
            '|' if self.rest.starts_with('|') => self.rest = self.rest.get(1..).unwrap_or_default(),
            '|' => return Some(Act::Code),
            '>' if self.prints_at == Some(self.depth) => return self.redirection(),
            _ => {}
        }
        None
    }

    fn word(&mut self) {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let is_print = matches!(word, "print" | "printf");
        if is_print {
            self.prints_at = Some(self.depth);
        }
        self.is_operand = !is_print && !matches!(word, "return" | "in" | "else" | "do");
        self.rest = rest;
    }

    /// Skips text up to a closing sign.
    fn quoted(&mut self, end: char) {
        let mut escaped = false;
        let close = self.rest.char_indices().find(|(_, c)| {
            let ends = *c == end && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        self.rest = close
            .and_then(|(at, _)| self.rest.get(at.saturating_add(end.len_utf8())..))
            .unwrap_or_default();
    }

    /// Skips a regular expression. One with a slash in brackets ends at different places in
    /// different versions of awk.
    fn regex(&mut self) -> Option<Act> {
        let from = self.rest;
        self.quoted('/');
        let length = from.len().saturating_sub(self.rest.len());
        let text = from.get(..length).unwrap_or_default();
        let is_open = text.rfind('[') > text.rfind(']');
        is_open.then_some(Act::Runs)
    }

    fn redirection(&mut self) -> Option<Act> {
        let target = self.rest.trim_start_matches('>').trim_start();
        let is_no_file = NO_FILES.iter().any(|file| target.starts_with(file));
        (!is_no_file).then_some(Act::Writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_only_print_do_nothing_else() {
        for program in [
            "{print $1}",
            "$3 > 5",
            "$3 > 5 {print $1, $2}",
            "/a|b/ {print}",
            "{print (a > b)}",
            "a || b",
            "{print \"x > y | z\"}",
            "{print $1/$2; x = a / b}",
            "{print > \"/dev/stderr\"}",
            "NR > 1 && $2 ~ /x|y/",
            "BEGIN {while ((getline line < \"f\") > 0) n++}",
            "{printf \"%s\\n\", $1} # > file",
            "{print; if ($1 > 2) n++}",
            "{s += $1} END {print s / NR}",
        ] {
            assert_eq!(actions(program), [], "{program}");
        }
    }

    #[test]
    fn programs_that_run_or_write_are_found() {
        for (program, expected) in [
            ("BEGIN {system(\"rm x\")}", Act::Code),
            ("{print | \"sh\"}", Act::Code),
            ("{\"date\" | getline d}", Act::Code),
            ("{print |& \"sh\"}", Act::Code),
            ("{print > \"out\"}", Act::Writes),
            ("{print $1, $2 >> $3}", Act::Writes),
            ("{printf(\"%s\", $1) > \"out\"}", Act::Writes),
            ("@load \"filefuncs\"", Act::Runs),
            ("/[/]/ {print}", Act::Runs),
        ] {
            assert!(actions(program).contains(&expected), "{program}: {:?}", actions(program));
        }
    }
}
