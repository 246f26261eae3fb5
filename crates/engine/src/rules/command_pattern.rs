//! Patterns of commands: the text in the parentheses of a `Bash` rule.
#![deny(clippy::indexing_slicing)]

use toolcrib_core::tool_pattern;

/// A pattern of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandPattern {
    /// Every line.
    Any,
    /// Literal words; more may follow if `open`.
    Words { words: Vec<String>, open: bool },
    /// Words with `*`, which matches any text in the same command; more may follow if `open`.
    Glob { words: Vec<String>, open: bool },
}

/// Operators that never occur in one part of a line, because they separate or open parts.
const OPERATORS: [&str; 9] = ["&&", "||", "|", ";", "$(", "`", ">", "<", "\n"];

/// Words that open or close a compound command.
const KEYWORDS: [&str; 17] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "function", "select", "{", "}", "!",
];

impl CommandPattern {
    /// Parses a specifier.
    pub(super) fn parse(specifier: &str) -> Result<Self, String> {
        if let Some(rest) = specifier.strip_prefix("command:") {
            return Err(format!(
                "a specifier of Bash is the command itself; write Bash({})",
                rest.trim()
            ));
        }
        if let Some(operator) = OPERATORS.into_iter().find(|op| specifier.contains(*op)) {
            return Err(operator_fault(operator));
        }
        if let Some(quote) = specifier.chars().find(|c| matches!(c, '"' | '\'' | '\\')) {
            let plain: String =
                specifier.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
            return Err(format!(
                "{quote} can never match: rules are compared with words after quoting is undone; write Bash({plain})"
            ));
        }
        if specifier == "*" {
            return Ok(Self::Any);
        }
        let (text, open) = match specifier.strip_suffix(":*").or(specifier.strip_suffix(" *")) {
            Some(text) => (text.trim_end(), true),
            None => (specifier, false),
        };
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        check_words(&words, text, open)?;
        Ok(match words.iter().any(|word| word.contains('*')) {
            true => Self::Glob { words, open },
            false => Self::Words { words, open },
        })
    }

    /// Returns whether `*` occurs before the end: then the pattern matches commands that its author
    /// may not expect.
    pub(super) fn has_inner_star(&self) -> bool {
        let Self::Glob { words, open } = self else { return false };
        let text = words.join(" ");
        *open || text.strip_suffix('*').unwrap_or(&text).contains('*')
    }

    /// Returns the words, and whether more may follow.
    pub(super) fn words(&self) -> (&[String], bool) {
        match self {
            Self::Any => (&[], true),
            Self::Words { words, open } | Self::Glob { words, open } => (words, *open),
        }
    }

    /// Returns one spelling for all equivalent patterns.
    pub(super) fn canonical(&self) -> String {
        let (words, open) = self.words();
        match self {
            Self::Any => "*".to_owned(),
            _ => format!("{}{}", words.join(" "), if open { ":*" } else { "" }),
        }
    }
}

fn operator_fault(operator: &str) -> String {
    match operator {
        ">" | "<" => format!(
            "{operator:?} can never match: redirections are parts of their own; write a rule for the command and one for the file, Edit(path) or Read(path)"
        ),
        "$(" | "`" => format!(
            "{operator:?} can never match: the command inside is a part of its own; write a rule for it"
        ),
        _ => format!(
            "{operator:?} can never match: each part of a line is judged by itself; write one rule for each part"
        ),
    }
}

fn check_words(words: &[String], text: &str, open: bool) -> Result<(), String> {
    if words.is_empty() {
        return Err("there is no program before the *; write Bash for every line".to_owned());
    }
    if text.contains(":*") {
        return Err("\":*\" is only allowed at the end; for any text inside write *".to_owned());
    }
    if open && let Some(text) = text.strip_suffix(':') {
        return Err(format!("\": *\" is not an ending; write Bash({text}:*)"));
    }
    if words.iter().any(|word| word == "&" || (word.len() > 1 && word.ends_with('&'))) {
        return Err(operator_fault("&"));
    }
    if let Some(first) = words.first() {
        check_program(first)?;
    }
    let expands = |word: &String| {
        word.split('$').skip(1).any(|rest| {
            rest.starts_with(|c: char| {
                c.is_ascii_alphanumeric() || matches!(c, '_' | '{' | '@' | '*' | '?')
            })
        })
    };
    if let Some(word) = words.iter().find(|word| expands(word)) {
        return Err(format!(
            "{word} can never match: what a variable holds is not known before the line runs; end the rule before it with :*"
        ));
    }
    Ok(())
}

/// Refuses words that can never be the name of a program.
fn check_program(word: &str) -> Result<(), String> {
    if KEYWORDS.contains(&word) || word.starts_with('(') {
        return Err(format!(
            "\"{word}\" belongs to the shell and is not a program; write a rule for the commands inside"
        ));
    }
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match word.split_once('=') {
        Some((name, _)) if is_name(name) => Err(format!(
            "{word} is not a program: variables set for a command are no part of it; write the command without them"
        )),
        _ => Ok(()),
    }
}

/// Returns whether a pattern with `*` matches the joined text.
pub(super) fn glob_matches(pattern_text: &str, open: bool, text: &str) -> bool {
    tool_pattern::glob_matches(pattern_text, text)
        || (open && tool_pattern::glob_matches(&format!("{pattern_text} *"), text))
}

/// Returns whether a pattern could match a text of which only the beginning and the end are known.
pub(super) fn glob_may_match(pattern_text: &str, open: bool, head: &str, tail: &str) -> bool {
    let first = pattern_text.split('*').next().unwrap_or_default();
    let last = pattern_text.rsplit('*').next().unwrap_or_default();
    let head_agrees = first.starts_with(head) || head.starts_with(first);
    let ends = open || last.is_empty() || last.ends_with(tail) || tail.ends_with(last);
    head_agrees && ends
}

/// Returns whether a pattern matches these known words; a word with spaces is one word. A separate
/// `*` matches one or more words; at the end of the pattern it matches all following words.
pub(super) fn words_match(pattern: &[String], open: bool, words: &[&str]) -> bool {
    let (mut at, mut word) = (0, 0);
    // Position of the last separate `*`, and the last word that it matched.
    let mut star: Option<(usize, usize)> = None;
    while let Some(text) = words.get(word) {
        match pattern.get(at) {
            // Words follow the matched ones.
            None if open => return true,
            Some(own) if own == "*" => {
                star = Some((at, word));
                (at, word) = (at + 1, word + 1);
                // A star at the very end matches everything that follows.
                if at == pattern.len() {
                    return true;
                }
            }
            Some(own) if tool_pattern::glob_matches(own, text) => {
                (at, word) = (at + 1, word + 1);
                if at == pattern.len() && own.ends_with('*') {
                    return true;
                }
            }
            _ => {
                let Some((star_at, took)) = star else { return false };
                star = Some((star_at, took + 1));
                (at, word) = (star_at + 1, took + 2);
            }
        }
    }
    at == pattern.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn patterns() {
        use CommandPattern::{Any, Glob, Words};
        for (text, expected) in [
            ("*", Any),
            ("git push:*", Words { words: words("git push"), open: true }),
            ("git push *", Words { words: words("git push"), open: true }),
            ("git push", Words { words: words("git push"), open: false }),
            ("git push*", Glob { words: words("git push*"), open: false }),
            ("git * main", Glob { words: words("git * main"), open: false }),
            ("git * main:*", Glob { words: words("git * main"), open: true }),
            ("npm run test:unit", Words { words: words("npm run test:unit"), open: false }),
            (
                "curl https://x/?a=1&b=2",
                Words { words: words("curl https://x/?a=1&b=2"), open: false },
            ),
        ] {
            assert_eq!(CommandPattern::parse(text), Ok(expected), "{text}");
        }
        for (text, says) in [
            ("command:rm *", "write Bash(rm *)"),
            ("git status && rm", "one rule for each part"),
            ("a | b", "one rule for each part"),
            ("a ; b", "one rule for each part"),
            ("a &", "one rule for each part"),
            ("echo $(id)", "a part of its own"),
            ("echo > x", "Edit(path)"),
            ("echo \"a b\"", "write Bash(echo a b)"),
            ("rm $HOME", "not known before"),
            (":*", "no program"),
            ("git:* push", "only allowed at the end"),
            ("git push: *", "write Bash(git push:*)"),
            ("A=b ls:*", "without them"),
            ("if true", "is not a program"),
            ("(ls)", "is not a program"),
        ] {
            let error = CommandPattern::parse(text).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn inner_stars() {
        for (text, expected) in [
            ("git * main", true),
            ("* --version", true),
            ("g*:*", true),
            ("git push*", false),
            ("git push:*", false),
            ("git push", false),
        ] {
            let pattern = CommandPattern::parse(text).expect(text);
            assert_eq!(pattern.has_inner_star(), expected, "{text}");
        }
    }

    #[test]
    fn word_by_word() {
        for (pattern, open, line, expected) in [
            ("git push*", false, &["git", "push", "x"][..], true),
            ("git push*", false, &["git", "pushed"], true),
            ("git push*", false, &["git", "pull"], false),
            ("git * main", false, &["git", "push", "origin", "main"], true),
            ("git * main", false, &["git", "main"], false),
            ("git a*b", false, &["git", "ab", "c"], false),
            ("git a*b", true, &["git", "axb", "c"], true),
            ("echo hi", false, &["echo", "hi there"], false),
            ("echo hi there", false, &["echo", "hi there"], false),
        ] {
            assert_eq!(words_match(&words(pattern), open, line), expected, "{pattern} {line:?}");
        }
    }

    #[test]
    fn what_could_match() {
        for (pattern, open, head, tail, expected) in [
            ("git * main", false, "git push ", "", true),
            ("git * main", false, "git push ", " x", false),
            ("git * main", true, "git push ", " x", true),
            ("* --force", false, "echo ", "", true),
            ("git push*", false, "git ", " x", true),
            ("git push*", false, "ls ", "", false),
        ] {
            assert_eq!(
                glob_may_match(pattern, open, head, tail),
                expected,
                "{pattern} {head:?} {tail:?}"
            );
        }
    }
}
